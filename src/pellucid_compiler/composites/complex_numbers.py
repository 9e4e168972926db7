"""Views of complex tensors. Conjugation and negation are never pending:
``resolve_conj`` has nothing to do.
"""

from pellucid_compiler.composites import composite


@composite("real(Tensor(a) self) -> Tensor(a)", method=False)
def real(x):
    """A view of the real parts; a real tensor itself."""
    return x.real


@composite("imag(Tensor(a) self) -> Tensor(a)", method=False)
def imag(x):
    """A view of the imaginary parts of a complex tensor."""
    return x.imag


@composite("conj(Tensor(a) self) -> Tensor(a)", method=False)
def conj(x):
    """The complex conjugates; a real tensor itself."""
    return x.conj()


@composite("resolve_conj(Tensor(a) self) -> Tensor(a)", method=False)
@composite("resolve_neg(Tensor(a) self) -> Tensor(a)", method=False)
def resolved(x):
    """The tensor itself: no conjugation or negation is ever delayed."""
    return x

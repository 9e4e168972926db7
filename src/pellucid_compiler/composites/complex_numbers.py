"""Views of complex tensors. Conjugation and negation are never pending, so
``resolve_conj`` returns its argument.
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


@composite(
    "conj_physical(Tensor self) -> Tensor",
    inplace=True,
    inplace_function=True,
    out=True,
    tags="maybe_aliasing_or_mutating",
)
def conj_physical(x):
    """The complex conjugates in new memory; a real tensor itself."""
    return x._conj_physical() if x.is_complex() else x


@composite("resolve_conj(Tensor(a) self) -> Tensor(a)", method=False)
@composite("resolve_neg(Tensor(a) self) -> Tensor(a)", method=False)
def resolved(x):
    """The tensor itself: no conjugation or negation is ever pending."""
    return x

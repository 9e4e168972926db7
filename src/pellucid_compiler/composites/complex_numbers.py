"""Views of complex tensors. Conjugation and negation are never pending, so
``resolve_conj`` returns its argument.

``real`` and ``imag`` are attributes of tensors, too, and ``conj`` is the function and
the method (``pellucid/_tensor``), which modes do not see called, as in PyTorch.
"""

from pellucid_compiler.composites import api, composite, require


@composite("real(Tensor(a) self) -> Tensor(a)", method=False)
def real(x):
    """A view of the real parts; a real tensor itself."""
    return api.view_as_real(x).select(-1, 0) if x.is_complex() else x


@composite("imag(Tensor(a) self) -> Tensor(a)", method=False)
def imag(x):
    """A view of the imaginary parts of a complex tensor."""
    require(x.is_complex(), "{} numbers have no imaginary part", x.dtype)
    return api.view_as_real(x).select(-1, 1)


@composite("conj(Tensor(a) self) -> Tensor(a)", method=False, function=False)
def conj(input):
    """The complex conjugates; a real tensor itself."""
    return input.conj_physical() if input.is_complex() else input


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


@composite("resolve_conj(Tensor(a) self) -> Tensor(a)")
@composite("resolve_neg(Tensor(a) self) -> Tensor(a)")
def resolved(x):
    """The tensor itself: no conjugation or negation is ever pending."""
    return x

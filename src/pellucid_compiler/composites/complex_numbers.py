"""Views of complex tensors, and what ends a pending conjugation or negation.

``real`` and ``imag`` are attributes of tensors, too, and ``conj`` is the function and
the method (``pellucid/_tensor``), which modes do not see called, as in PyTorch.
"""

from pellucid_compiler.composites import api, composite, require


@composite("real(Tensor(a) self) -> Tensor(a)", method=False)
def real(x):
    """A view of the real parts; a real tensor itself."""
    if not x.is_complex():
        return x
    return api.view_as_real(_stored(x)).select(-1, 0)


def _stored(x):
    """The numbers in the memory of ``x``."""
    return x._conj() if x.is_conj() else x


@composite("imag(Tensor(a) self) -> Tensor(a)", method=False)
def imag(x):
    """A view of the imaginary parts of a complex tensor."""
    require(x.is_complex(), "{} numbers have no imaginary part", x.dtype)
    parts = api.view_as_real(_stored(x)).select(-1, 1)
    return parts._neg_view() if x.is_conj() else parts


@composite("conj(Tensor(a) self) -> Tensor(a)", method=False, function=False)
def conj(input):
    """A view of the complex conjugates, which the next op computes (``is_conj``); a
    real tensor itself.
    """
    return input._conj() if input.is_complex() else input


@composite(
    "conj_physical(Tensor self) -> Tensor",
    inplace=True,
    inplace_function=True,
    out=True,
    tags="maybe_aliasing_or_mutating",
    casts_out=False,
)
def conj_physical(x):
    """The complex conjugates in new memory; a real tensor itself."""
    return x._conj_physical() if x.is_complex() else x


@composite("resolve_conj(Tensor(a) self) -> Tensor(a)")
def resolve_conj(x):
    """The tensor itself, or if its conjugation is pending, a tensor in new memory."""
    return x.clone() if x.is_conj() else x


@composite("resolve_neg(Tensor(a) self) -> Tensor(a)")
def resolve_neg(x):
    """The tensor itself, or if its negation is pending, a tensor in new memory."""
    return x.clone() if x.is_neg() else x

"""Transposes that are attributes of tensors in Python: ``x.mT``, ``x.mH``, ``x.T``."""

from pellucid_compiler.composites import composite


@composite("mT(Tensor(a) self) -> Tensor(a)", method=False, function=False)
def mT(x):
    """The last two dimensions exchanged."""
    return x.mT


@composite("mH(Tensor(a) self) -> Tensor(a)", method=False, function=False)
@composite("adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(x):
    """The last two dimensions exchanged, the elements conjugated."""
    return x.mH


@composite("matrix_H(Tensor(a) self) -> Tensor(a)", method=False, function=False)
def matrix_H(x):
    """The conjugate transpose of a matrix."""
    return x.H


@composite("numpy_T(Tensor(a) self) -> Tensor(a)", method=False, function=False)
def numpy_T(x):
    """The dimensions in reverse order."""
    return x.T

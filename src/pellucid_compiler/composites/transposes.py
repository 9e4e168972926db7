"""Transposes that are attributes of tensors in Python: ``x.mT``, ``x.mH``, ``x.T``."""

from pellucid_compiler.composites import composite, require


def _attribute(name):
    """Declare an op that is an attribute of tensors in Python."""
    return composite(
        f"{name}(Tensor(a) self) -> Tensor(a)",
        forms=(f"{name}.a(Tensor(a) self) -> Tensor(a)",),
        method=False,
        function=False,
    )


@_attribute("mT")
def mT(x):
    """The last two dimensions swapped."""
    require(
        x.dim() >= 2,
        "mT needs a matrix or a batch of them, not {} dimensions",
        x.dim(),
    )
    return x.transpose(-2, -1)


@_attribute("mH")
@composite("adjoint(Tensor(a) self) -> Tensor(a)")
def mH(x):
    """The last two dimensions swapped, the elements conjugated."""
    transposed = x if x.dim() == 0 else x.mT
    return transposed.conj() if x.is_complex() else transposed


@_attribute("matrix_H")
def matrix_H(x):
    """The conjugate transpose of a matrix."""
    require(x.dim() in (0, 2), "H needs a matrix, not {} dimensions", x.dim())
    transposed = x if x.dim() == 0 else x.transpose(0, 1)
    return transposed.conj() if x.is_complex() else transposed


@_attribute("numpy_T")
def numpy_T(x):
    """The dimensions in reverse order."""
    return x.permute(list(range(x.dim()))[::-1])

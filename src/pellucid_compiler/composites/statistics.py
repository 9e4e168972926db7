"""Sums over diagonals, means of what is a number, differences and integrals."""

from pellucid_compiler.composites import composite, require


@composite("trace(Tensor self) -> Tensor", out=True)
def trace(x):
    """The sum of the diagonal of a matrix."""
    require(x.dim() == 2, f"trace: expected a matrix, but got a {x.dim()}-D tensor")
    return x.diagonal().sum()

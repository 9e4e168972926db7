"""Approximate decompositions of large matrices: the leading singular values alone.

By random projections (Halko, Martinsson and Tropp 2009, algorithms 4.4 and 5.1), so the
results depend on the default generator. Imported lazily.
"""

from __future__ import annotations

import pellucid
from pellucid import Tensor, linalg
from pellucid._package.calls import offered

_Factors = tuple[Tensor, Tensor, Tensor]


@offered.function
def svd_lowrank(
    A: Tensor,
    q: int | None = 6,
    niter: int | None = 2,
    M: Tensor | None = None,
) -> _Factors:
    """``(U, S, V)`` with about the ``q`` greatest singular values of ``A - M``.

    ``A`` is (..., m, n), ``U`` (..., m, q), ``S`` (..., q), ``V`` (..., n, q);
    ``niter`` more rounds make the result more exact. A sparse ``A`` stays sparse: it
    is only multiplied, and ``M`` then has one row, or one of ``A``'s shape.
    """
    matrix = _Difference(A, M)
    is_wide = A.shape[-2] < A.shape[-1]
    if is_wide:
        matrix = matrix.adjoint()
    basis = _approximate_basis(matrix, 6 if q is None else q, niter)
    left, values, right = linalg.svd(matrix.adjoint().times(basis).mH, False)
    left, right = basis @ left, right.mH
    return (right, values, left) if is_wide else (left, values, right)


class _Difference:
    """``A - M``, which is not computed where ``A`` is sparse."""

    def __init__(self, A: Tensor, M: Tensor | None) -> None:
        self.minuend, self.subtrahend = A, M
        if M is not None and A.layout is pellucid.strided:
            self.minuend, self.subtrahend = A - M.broadcast_to(A.shape), None
        elif M is not None:
            # A row of means is a column of ones times it.
            self.subtrahend = M.expand(A.shape) if M.shape[-2] == 1 else M

    def adjoint(self) -> _Difference:
        """The conjugate transpose."""
        made = _Difference(self.minuend.mH, None)
        if self.subtrahend is not None:
            made.subtrahend = self.subtrahend.mH
        return made

    def times(self, dense: Tensor) -> Tensor:
        """The product with a dense matrix."""
        product = self.minuend @ dense
        if self.subtrahend is None:
            return product
        return product - self.subtrahend @ dense


def _approximate_basis(matrix: _Difference, q: int, niter: int | None) -> Tensor:
    """Orthogonal columns that span about what the columns of ``matrix`` span."""
    A, adjoint = matrix.minuend, matrix.adjoint()
    start = pellucid.randn(A.shape[-1], q, dtype=A.dtype)
    basis = linalg.qr(matrix.times(start)).Q
    for _ in range(2 if niter is None else niter):
        basis = linalg.qr(adjoint.times(basis)).Q
        basis = linalg.qr(matrix.times(basis)).Q
    return basis


@offered.function
def pca_lowrank(
    A: Tensor,
    q: int | None = None,
    center: bool = True,
    niter: int = 2,
) -> _Factors:
    """``svd_lowrank`` of ``A`` minus the mean of its rows: the leading principal
    components of (..., samples, features) are the columns of ``V``.

    Raises ValueError where ``q`` is more than either size.
    """
    smaller = min(A.shape[-2:])
    q = min(6, smaller) if q is None else q
    if not 0 <= q <= smaller:
        raise ValueError(f"q is {q}: a matrix of {tuple(A.shape[-2:])} has {smaller}")
    if niter < 0:
        raise ValueError(f"niter is {niter}, and not negative")
    mean = A.mean(dim=-2, keepdim=True) if center else None
    if mean is not None and mean.layout is not pellucid.strided:
        mean = mean.to_dense()
    return svd_lowrank(A, q, niter, mean)

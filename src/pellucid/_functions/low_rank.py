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
    ``niter`` more rounds make the result more exact.
    """
    matrix = A if M is None else A - M.broadcast_to(A.shape)
    is_wide = matrix.shape[-2] < matrix.shape[-1]
    if is_wide:
        matrix = matrix.mH
    basis = _approximate_basis(matrix, 6 if q is None else q, niter)
    left, values, right = linalg.svd(basis.mH @ matrix, full_matrices=False)
    left, right = basis @ left, right.mH
    return (right, values, left) if is_wide else (left, values, right)


def _approximate_basis(matrix: Tensor, q: int, niter: int | None) -> Tensor:
    """Orthogonal columns that span about what the columns of ``matrix`` span."""
    start = pellucid.randn(matrix.shape[-1], q, dtype=matrix.dtype)
    basis = linalg.qr(matrix @ start).Q
    for _ in range(2 if niter is None else niter):
        basis = linalg.qr(matrix.mH @ basis).Q
        basis = linalg.qr(matrix @ basis).Q
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
    return svd_lowrank(A, q, niter, mean)

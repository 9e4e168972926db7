"""Inverses, determinants, and solutions of linear systems.

The routines are ``catalogue/inverses.py``'s and ``catalogue/ldl.py``'s.
"""

import math

from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.linalg_checks import (
    DEFICIENT,
    SINGULAR,
    check,
    plain,
    require_float,
    require_matrices,
    require_pivots,
)
from pellucid_compiler.composites.linalg_factors import unpacked

# Inverses


@composite(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) "
    "-> (Tensor inverse, Tensor info)",
    namespace="linalg",
    out="inverse",
    seen=True,
)
def inv_ex(A, *, check_errors):
    """The inverse and, instead of an error, 0 or the first zero on the diagonal of U.

    >>> torch.linalg.inv_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    inverse = api._C._pellucid._linalg_inv(A)
    if check_errors:
        check("inv_ex", inverse.info, SINGULAR)
    return inverse


@composite(
    "linalg_inv(Tensor A) -> Tensor", namespace="linalg", out=True, casts_out=False
)
@composite("inverse(Tensor self) -> Tensor", out=True, casts_out=False)
def inv(A):
    """The inverse of square matrices (..., n, n); ``LinAlgError`` if singular."""
    inverse, info = api.linalg.inv_ex(A)
    check("inv", info, SINGULAR)
    return inverse


# Linear systems


def _is_vector(A, B):
    """Whether B holds vectors, by NumPy's rule."""
    return B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])


@composite(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
    "-> (Tensor result, Tensor info)",
    namespace="linalg",
    out="out",
)
def solve_ex(A, B, *, left, check_errors):
    """``solve`` and, instead of an error, 0 or the first zero on the diagonal of U."""
    is_vector = _is_vector(A, B)
    require(
        left or not is_vector, "linalg.solve: left=False takes matrices, not vectors"
    )
    right = B.unsqueeze(-1) if is_vector else B
    if left:
        solution, info = api._C._pellucid._linalg_solve(A, right)
    else:
        solution, info = api._C._pellucid._linalg_solve(A.mT, right.mT)
        solution = solution.mT
    if check_errors:
        check("solve_ex", info, SINGULAR)
    return solution.squeeze(-1) if is_vector else solution, info


@composite(
    "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
def solve(A, B, *, left):
    """X with ``A X = B``, or ``X A = B`` with ``left=False``.

    ``A`` is (..., n, n), ``B`` (..., n, k) or vectors (..., n); ``LinAlgError`` if A
    has no inverse.
    """
    solution, info = solve_ex(A, B, left=left, check_errors=False)
    check("solve", info, SINGULAR)
    return solution


@composite(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
    "bool unitriangular=False) -> Tensor",
    namespace="linalg",
    out=True,
    seen=True,
    casts_out=False,
)
def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X with ``A X = B``, or ``X A = B`` with ``left=False``, for triangular ``A``.

    The other triangle is not read, nor the diagonal with ``unitriangular``.
    """
    if left:
        return api._C._pellucid._linalg_solve_triangular(A, B, upper, unitriangular)
    transposed = api._C._pellucid._linalg_solve_triangular(
        A.mT, B.mT, not upper, unitriangular
    )
    return transposed.mT


@composite(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, "
    "bool adjoint=False) -> Tensor",
    namespace="linalg",
    out=True,
    seen=True,
    casts_out=False,
)
def lu_solve(LU, pivots, B, *, left, adjoint):
    """X with ``A X = B`` (``X A = B``, ``Aᴴ X = B``) for the A that was factored."""
    require_matrices("lu_solve", LU, B)
    require_pivots("lu_solve", pivots, LU)
    if not left:
        return lu_solve(LU, pivots, B.mH, left=True, adjoint=not adjoint).mH
    permutation, _, _ = unpacked(LU.detach(), pivots, True)
    if adjoint:
        inner = solve_triangular(LU.mH, B, upper=False)
        inner = solve_triangular(LU.mH, inner, upper=True, unitriangular=True)
        return permutation @ inner
    inner = permutation.mT @ B
    inner = solve_triangular(LU, inner, upper=False, unitriangular=True)
    return solve_triangular(LU, inner, upper=True)


@composite(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) "
    "-> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    namespace="linalg",
    out="out",
    autocast="float32",
    seen=True,
    tags="dynamic_output_shape",
    casts_out=True,
)
def lstsq(A, B, rcond, *, driver):
    """The X that minimises ``|A X - B|``, the squared residuals, the rank, and the
    singular values (for the drivers "gelsd" and "gelss").
    """
    require(
        driver in (None, "gels", "gelsy", "gelsd", "gelss"),
        "linalg.lstsq: driver is 'gels', 'gelsy', 'gelsd' or 'gelss', not {!r}",
        driver,
    )
    require_float("linalg.lstsq", A)
    require(A.dim() >= 2, "linalg.lstsq: shape {} holds no matrix", A.shape)
    is_vector = _is_vector(A, B)
    right = B.unsqueeze(-1) if is_vector else B
    m, n = A.shape[-2:]
    tolerance = max(m, n) * api.finfo(A.dtype).eps if rcond is None else rcond
    values = A.new_empty(0, dtype=A.dtype.to_real())
    if driver in ("gelsd", "gelss"):
        solution = api.linalg.pinv(A, rtol=tolerance) @ right
        rank = api.linalg.matrix_rank(A, rtol=tolerance)
        values = api.linalg.svdvals(A.detach())
    else:
        limit = api.full((), tolerance, dtype=A.dtype.to_real(), device=A.device)
        solution, rank = api._C._pellucid._linalg_lstsq(A, right, limit)
        if driver == "gels":
            check("lstsq", rank < min(m, n), DEFICIENT)
    residuals = _residuals(A, solution, right, rank, driver)
    if driver == "gels":
        rank = A.new_empty(0, dtype=api.int64)
    solution = solution.squeeze(-1) if is_vector else solution
    return solution, residuals, rank, values


def _residuals(A, solution, right, rank, driver):
    """The squared residuals, or an empty tensor with a history where PyTorch's driver
    does not compute them.
    """
    m, n = A.shape[-2:]
    if m > n and driver not in (None, "gelsy") and _is_full(rank, n):
        return (A @ solution - right).abs().square().sum(-2)
    return solution.flatten()[:0].abs()


def _is_full(rank, n):
    """Whether every matrix has the rank ``n``; True on Meta."""
    rank = plain(rank)
    return rank.is_meta or bool((rank == n).all())


# Determinants


@composite(
    "linalg_det(Tensor A) -> Tensor", namespace="linalg", out=True, casts_out=False
)
@composite("det(Tensor self) -> Tensor")
def det(A):
    """The determinants of square matrices (..., n, n)."""
    return api._linalg_det(A)


@composite(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    namespace="linalg",
    out="out",
)
@composite("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", out="out")
def slogdet(A):
    """The determinant's sign, and the logarithm of its absolute value."""
    return api._linalg_slogdet(A)


@composite("logdet(Tensor self) -> Tensor")
def logdet(x):
    """The logarithm of the determinant; NaN where that is negative."""
    sign, logarithm = api._linalg_slogdet(x)
    if sign.is_complex():
        return logarithm + sign.log()
    return api.where(sign < 0, float("nan"), logarithm)


# Systems of tensors


@composite(
    "linalg_tensorinv(Tensor self, int ind=2) -> Tensor", namespace="linalg", out=True
)
def tensorinv(x, ind):
    """The inverse with respect to ``tensordot``: the first ``ind`` dims are rows."""
    require(ind > 0, "linalg.tensorinv: ind is {}; give a positive number", ind)
    rows, columns = list(x.shape[:ind]), list(x.shape[ind:])
    count = math.prod(rows)
    require(
        count == math.prod(columns),
        "linalg.tensorinv: the dims {} and {} have different numbers of elements",
        rows,
        columns,
    )
    return api.linalg.inv(x.reshape(count, count)).reshape([*columns, *rows])


@composite(
    "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    namespace="linalg",
    out=True,
)
def tensorsolve(A, B, dims):
    """X with ``tensordot(A, X, X.ndim) = B``; ``dims`` of A are moved to its end."""
    moved = A if dims is None else A.movedim(dims, list(range(-len(dims), 0)))
    shape = list(moved.shape[B.dim() :])
    count = math.prod(shape)
    require(
        count == B.numel(),
        "linalg.tensorsolve: {} equations for {} unknowns",
        B.numel(),
        count,
    )
    return api.linalg.solve(moved.reshape(-1, count), B.reshape(-1)).reshape(shape)

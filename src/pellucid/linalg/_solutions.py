"""Inverses, determinants, and solutions of linear systems."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid._calls.autocast import in_float32
from pellucid._calls.out_argument import write_out
from pellucid.linalg._decompositions import eigvalsh, svdvals, unpacked
from pellucid.linalg._errors import SINGULAR, check
from pellucid.return_types import printed_as

__all__ = [
    "det",
    "inv",
    "inv_ex",
    "lstsq",
    "lu_solve",
    "matrix_rank",
    "pinv",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "tensorinv",
    "tensorsolve",
]


@printed_as("linalg_inv_ex")
class _InvEx(NamedTuple):
    inverse: Tensor
    info: Tensor


@printed_as("linalg_solve_ex")
class _SolveEx(NamedTuple):
    result: Tensor
    info: Tensor


@printed_as("linalg_slogdet")
class _Slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


@printed_as("linalg_lstsq")
class _Lstsq(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


# Inverses


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> _InvEx:
    """The inverse and, instead of an error, 0 or the first zero on the diagonal of U.

    >>> torch.linalg.inv_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    found = _InvEx(*pellucid._linalg_inv(A))
    if check_errors:
        check("inv_ex", found.info, SINGULAR)
    return write_out(found, out)


def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """The inverse of square matrices (..., n, n); ``LinAlgError`` if there is none."""
    inverse, info = inv_ex(A)
    check("inv", info, SINGULAR)
    return write_out(inverse, out)


def _cutoff(values: Tensor, atol: Any, rtol: Any, size: int) -> Tensor:
    """Up to which size singular values count as zero, for each matrix."""
    if rtol is None:
        given = (atol > 0) if isinstance(atol, Tensor) else atol is not None and atol
        epsilon = size * pellucid.finfo(values.dtype).eps
        if isinstance(given, Tensor):
            rtol = pellucid.where(given, 0.0, epsilon)
        else:
            rtol = 0.0 if given else epsilon
    absolute = pellucid.as_tensor(0.0 if atol is None else atol)
    largest = values.amax(-1) if values.shape[-1] else values.sum(-1)
    relative = pellucid.as_tensor(rtol).to(values.dtype) * largest
    return pellucid.maximum(absolute.to(values.dtype), relative)


def pinv(
    A: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """The pseudo-inverse (Moore and Penrose).

    Singular values up to ``max(atol, rtol * greatest)`` count as zero; ``rtol`` is the
    dtype's epsilon times the larger dim unless ``atol`` is given.
    """
    rtol = rcond if rtol is None else rtol
    size = max(A.shape[-2:])
    if not A.numel():
        return A.mH.clone()
    values = _magnitudes(A.detach(), hermitian)
    cutoff = _cutoff(values, atol, rtol, size)
    batch = pellucid.broadcast_shapes(cutoff.shape, A.shape[:-2])
    A, cutoff = A.expand(*batch, *A.shape[-2:]), cutoff.expand(batch)
    return write_out(pellucid._linalg_pinv(A, cutoff, hermitian), out)


def _magnitudes(A: Tensor, hermitian: bool) -> Tensor:
    """The singular values; of symmetric matrices, of which one triangle is read, the
    eigenvalues without their signs.
    """
    return eigvalsh(A).abs() if hermitian else svdvals(A)


def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """How many singular values do not count as zero, as ``pinv`` counts them."""
    values = _magnitudes(A.detach(), hermitian)
    if tol is not None:
        limit = pellucid.as_tensor(tol).to(values.dtype)
    else:
        limit = _cutoff(values, atol, rtol, max(A.shape[-2:]))
    return write_out((values > limit.unsqueeze(-1)).sum(-1), out)


# Linear systems


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether B holds vectors: as NumPy decides it."""
    return B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])


def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: Any = None,
) -> _SolveEx:
    """``solve`` and, instead of an error, 0 or the first zero on the diagonal of U."""
    is_vector = _is_vector(A, B)
    if is_vector and not left:
        raise RuntimeError("linalg.solve: left=False takes matrices, not vectors")
    right = B.unsqueeze(-1) if is_vector else B
    if left:
        found, info = pellucid._linalg_solve(A, right)
    else:
        found, info = pellucid._linalg_solve(A.mT, right.mT)
        found = found.mT
    if check_errors:
        check("solve_ex", info, SINGULAR)
    found = found.squeeze(-1) if is_vector else found
    return write_out(_SolveEx(found, info), out)


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """X with ``A X = B``, or ``X A = B`` with ``left=False``.

    ``A`` is (..., n, n), ``B`` (..., n, k) or vectors (..., n); ``LinAlgError`` if A
    has no inverse.
    """
    found, info = solve_ex(A, B, left=left)
    check("solve", info, SINGULAR)
    return write_out(found, out)


def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Any = None,
) -> Tensor:
    """X with ``A X = B``, or ``X A = B`` with ``left=False``, for triangular ``A``.

    The other triangle is not read, nor the diagonal with ``unitriangular``.
    """
    if left:
        found = pellucid._linalg_solve_triangular(A, B, upper, unitriangular)
    else:
        found = pellucid._linalg_solve_triangular(
            A.mT, B.mT, not upper, unitriangular
        ).mT
    return write_out(found, out)


def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Any = None,
) -> Tensor:
    """X with ``A X = B`` (``X A = B``, ``Aᴴ X = B``) for the A that was factored."""
    if not left:
        turned = lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
        return write_out(turned, out)
    permutation, _, _ = unpacked(LU.detach(), pivots, True)
    if adjoint:
        inner = solve_triangular(LU.mH, B, upper=False)
        inner = solve_triangular(LU.mH, inner, upper=True, unitriangular=True)
        found = permutation @ inner
    else:
        inner = permutation.mT @ B
        inner = solve_triangular(LU, inner, upper=False, unitriangular=True)
        found = solve_triangular(LU, inner, upper=True)
    return write_out(found, out)


@in_float32
def lstsq(
    A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None
) -> _Lstsq:
    """X with the least ``|A X - B|``, the squares of that, the rank, and the singular
    values (for the drivers "gelsd" and "gelss").
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"linalg.lstsq: driver is 'gels', 'gelsy', 'gelsd' or 'gelss', not "
            f"{driver!r}"
        )
    is_vector = _is_vector(A, B)
    right = B.unsqueeze(-1) if is_vector else B
    m, n = A.shape[-2:]
    tolerance = max(m, n) * pellucid.finfo(A.dtype).eps if rcond is None else rcond
    solution = pinv(A, rtol=tolerance) @ right
    residuals = values = A.new_empty(0, dtype=A.real.dtype)
    rank = A.new_empty(0, dtype=pellucid.int64)
    if driver != "gels":
        rank = matrix_rank(A, rtol=tolerance)
    if driver in ("gelsd", "gelss"):
        values = svdvals(A.detach())
    full = driver == "gels" or bool((rank == n).all())
    if m > n and full and driver != "gelsy":
        gap = A @ solution - right
        residuals = gap.abs().square().sum(-2)
    solution = solution.squeeze(-1) if is_vector else solution
    return _Lstsq(solution, residuals, rank, values)


# Determinants


def det(A: Tensor, *, out: Any = None) -> Tensor:
    """The determinants of square matrices (..., n, n)."""
    return write_out(pellucid._linalg_det(A), out)


def slogdet(A: Tensor, *, out: Any = None) -> _Slogdet:
    """The determinant's sign, and the logarithm of its absolute value."""
    return write_out(_Slogdet(*pellucid._linalg_slogdet(A)), out)


# Systems of tensors


def tensorinv(A: Tensor, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse for ``tensordot``: the first ``ind`` dims are rows."""
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: ind is {ind}; give a positive number")
    rows, columns = list(A.shape[:ind]), list(A.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError(
            f"linalg.tensorinv: the dims {rows} and {columns} hold different numbers "
            "of elements"
        )
    flat = A.reshape(math.prod(rows), math.prod(columns))
    return write_out(inv(flat).reshape([*columns, *rows]), out)


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Any = None) -> Tensor:
    """X with ``tensordot(A, X, X.ndim) = B``; ``dims`` of A are moved to its end."""
    moved = A if dims is None else A.movedim(list(dims), list(range(-len(dims), 0)))
    shape = list(moved.shape[B.dim() :])
    if math.prod(shape) != B.numel():
        raise RuntimeError(
            f"linalg.tensorsolve: {B.numel()} equations for {math.prod(shape)} unknowns"
        )
    flat = moved.reshape(-1, math.prod(shape))
    return write_out(solve(flat, B.reshape(-1)).reshape(shape), out)

"""Factorizations: Cholesky, LU, QR, eigenvalues, SVD."""

from __future__ import annotations

from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid._calls.argument_checks import any_true
from pellucid._calls.autocast import in_float32
from pellucid._calls.out_argument import write_out
from pellucid.linalg._errors import INDEFINITE, SINGULAR, check
from pellucid.return_types import printed_as

__all__ = [
    "cholesky",
    "cholesky_ex",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "qr",
    "svd",
    "svdvals",
]


@printed_as("linalg_cholesky_ex")
class _CholeskyEx(NamedTuple):
    L: Tensor
    info: Tensor


@printed_as("linalg_lu_factor")
class _LUFactor(NamedTuple):
    LU: Tensor
    pivots: Tensor


@printed_as("linalg_lu_factor_ex")
class _LUFactorEx(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor


@printed_as("linalg_lu")
class _LU(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


@printed_as("linalg_qr")
class _QR(NamedTuple):
    Q: Tensor
    R: Tensor


@printed_as("linalg_eig")
class _Eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


@printed_as("linalg_eigh")
class _Eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


@printed_as("linalg_svd")
class _SVD(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


# Cholesky


def cholesky(A: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower triangular ``L`` with ``A = L Lᴴ``; its adjoint with ``upper``.

    ``A`` (..., n, n) is Hermitian and positive definite; ``LinAlgError`` otherwise.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    factor, info = cholesky_ex(A, upper=upper)
    check("cholesky", info, INDEFINITE)
    return write_out(factor, out)


def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None
) -> _CholeskyEx:
    """``cholesky`` and, instead of an error, the order of the first minor that is not
    positive definite, or 0.
    """
    factor, info = pellucid._linalg_cholesky(A.mH if upper else A)
    if check_errors:
        check("cholesky_ex", info, INDEFINITE)
    return write_out(_CholeskyEx(factor.mH if upper else factor, info), out)


# LU


def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None
) -> _LUFactorEx:
    """L and U of ``A = P L U`` in one matrix, the rows exchanged (from 1), and 0 or the
    first zero on the diagonal of U.
    """
    found = _LUFactorEx(*pellucid._linalg_lu(A, pivot))
    if check_errors:
        check("lu_factor_ex", found.info, SINGULAR)
    return write_out(found, out)


def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> _LUFactor:
    """L and U of ``A = P L U`` in one matrix, and the rows exchanged (from 1)."""
    factors, pivots, info = lu_factor_ex(A, pivot=pivot)
    check("lu_factor", info, SINGULAR)
    return write_out(_LUFactor(factors, pivots), out)


def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> _LU:
    """``A = P L U``: a permutation, a lower triangle with ones on its diagonal, and an
    upper one. P is empty without ``pivot``.
    """
    factors, pivots, _ = lu_factor_ex(A, pivot=pivot)
    permutation, lower, upper = unpacked(factors, pivots, pivot)
    return write_out(_LU(permutation, lower, upper), out)


def unpacked(
    factors: Tensor, pivots: Tensor, with_permutation: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U of what ``lu_factor`` gives."""
    *_, m, n = factors.shape
    k = min(m, n)
    lower = factors[..., :k].tril(-1) + pellucid.eye(m, k, dtype=factors.dtype)
    permutation = factors.new_empty(0)
    if with_permutation:
        order = pellucid._linalg_permutation(pivots, m)
        rows = order.unsqueeze(-1) == pellucid.arange(m)
        permutation = rows.to(factors.dtype).mT
    return permutation, lower, factors[..., :k, :].triu()


# QR


def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> _QR:
    """``A = Q R``: orthonormal columns and an upper triangle.

    ``mode`` is "reduced", "complete" (Q is square) or "r" (Q is empty).
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"linalg.qr: mode is 'reduced', 'complete' or 'r', not {mode!r}"
        )
    q, r = pellucid._linalg_qr(A, mode == "complete")
    return write_out(_QR(A.new_empty(0) if mode == "r" else q, r), out)


@in_float32
def householder_product(input: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The first columns of the product of reflections ``1 - tau v vᴴ``.

    The vectors ``v`` lie below the diagonal of ``input`` (..., m, n), as ``geqrf``
    leaves them.
    """
    *batch, m, n = input.shape
    if m < n or tau.shape[-1] > n:
        raise RuntimeError(
            f"linalg.householder_product: {tau.shape[-1]} reflections in a matrix of "
            f"{m} rows and {n} columns: rows >= columns >= reflections is needed"
        )
    product = pellucid.eye(m, n, dtype=input.dtype).expand(*batch, m, n)
    for k in reversed(range(tau.shape[-1])):
        product = reflected(product, input, tau, k)
    return write_out(product.contiguous(), out)


def reflected(x: Tensor, vectors: Tensor, tau: Tensor, k: int) -> Tensor:
    """``x`` reflected by the vector in column ``k`` of ``vectors``."""
    places = pellucid.arange(vectors.shape[-2])
    below = pellucid.where(places > k, vectors[..., k], 0)
    vector = below + (places == k).to(vectors.dtype)
    row = (vector.conj().unsqueeze(-2) @ x) * tau[..., k, None, None]
    return x - vector.unsqueeze(-1) * row


# Eigenvalues and singular values


def eig(A: Tensor, *, out: Any = None) -> _Eig:
    """The eigenvalues and eigenvectors (columns of length 1) of square matrices, both
    complex; the order is LAPACK's.

    Vectors have a gradient where the eigenvalues differ, up to the phase of each.

    >>> torch.linalg.eig(torch.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    _require_finite("eig", A)
    return write_out(_Eig(*pellucid._linalg_eig(A)), out)


def eigvals(A: Tensor, *, out: Any = None) -> Tensor:
    """The complex eigenvalues of square matrices, in LAPACK's order."""
    _require_finite("eigvals", A)
    return write_out(pellucid._linalg_eig(A)[0], out)


def _require_finite(name: str, A: Tensor) -> None:
    if any_true(~A.detach().isfinite()):
        raise RuntimeError(f"linalg.{name}: the matrix holds infinities or NaN")


def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> _Eigh:
    """The eigenvalues, least first, and eigenvectors (columns) of Hermitian matrices.

    Only the triangle that ``UPLO`` names is read.
    """
    return write_out(_Eigh(*pellucid._linalg_eigh(A, _is_upper(UPLO))), out)


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """The eigenvalues of Hermitian matrices, the least first."""
    return write_out(pellucid._linalg_eigvalsh(A, _is_upper(UPLO)), out)


def _is_upper(triangle: str) -> bool:
    if triangle.upper() not in ("L", "U"):
        raise RuntimeError(f"linalg.eigh: UPLO is 'L' or 'U', not {triangle!r}")
    return triangle.upper() == "U"


def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: Any = None,
) -> _SVD:
    """``A = U diag(S) Vh``; U and Vh are square with ``full_matrices``.

    ``driver`` chooses among routines of GPUs and is refused here.
    """
    _refuse_driver("svd", driver)
    return write_out(_SVD(*pellucid._linalg_svd(A, full_matrices, True)), out)


def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """The singular values, the greatest first."""
    _refuse_driver("svdvals", driver)
    return write_out(pellucid._linalg_svdvals(A), out)


def _refuse_driver(name: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            f"linalg.{name}: driver {driver!r} is one of a GPU's; leave it out"
        )

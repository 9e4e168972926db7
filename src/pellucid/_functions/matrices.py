"""The package's own names of linear algebra: ``det``, ``inverse``, ``qr``, ``svd``, ...

Older forms of what ``pellucid.linalg`` offers. Functions of the package and methods of
Tensor, imported when first asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor, linalg
from pellucid._calls.autocast import in_float32
from pellucid._calls.deprecation import deprecated
from pellucid._calls.out_argument import write_out
from pellucid.linalg._decompositions import reflected, unpacked
from pellucid.linalg._errors import INDEFINITE, check
from pellucid.return_types import printed_as

det = linalg.det
inverse = linalg.inv
matrix_exp = linalg.matrix_exp
matrix_power = linalg.matrix_power
orgqr = linalg.householder_product
slogdet = linalg.slogdet


@printed_as("svd")
class _SVD(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor


@printed_as("qr")
class _QR(NamedTuple):
    Q: Tensor
    R: Tensor


@printed_as("triangular_solve")
class _TriangularSolve(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""
    sign, logarithm = linalg.slogdet(input)
    if sign.is_complex():
        return logarithm + sign.log()
    return pellucid.where(sign < 0, float("nan"), logarithm)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse; see ``linalg.pinv``."""
    return linalg.pinv(input, rtol=rcond)


def cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """``linalg.cholesky``, of which the named triangle is read."""
    deprecated("torch.cholesky", "torch.linalg.cholesky")
    factor, info = linalg.cholesky_ex(input.mH if upper else input)
    check("cholesky", info, INDEFINITE)
    return write_out(factor.mH if upper else factor, out)


def cholesky_solve(
    input: Tensor, L: Tensor, upper: bool = False, *, out: Any = None
) -> Tensor:
    """X with ``A X = input`` for ``A = L Lᵀ``, or ``Lᵀ L`` with ``upper``."""
    if input.dim() < 2 or L.dim() < 2:
        raise RuntimeError("cholesky_solve takes matrices; unsqueeze vectors")
    first, second = (L.mH, L) if upper else (L, L.mH)
    inner = linalg.solve_triangular(first, input, upper=False)
    return write_out(linalg.solve_triangular(second, inner, upper=True), out)


def cholesky_inverse(L: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The inverse of ``L Lᵀ``, or ``Lᵀ L`` with ``upper``."""
    one = pellucid.eye(L.shape[-1], dtype=L.dtype).expand(L.shape)
    return cholesky_solve(one, L, upper, out=out)


@in_float32
def triangular_solve(
    b: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Any = None,
) -> Any:
    """X with ``A X = b``, or ``Aᵀ X = b``, for triangular ``A``; and a copy of A."""
    deprecated("torch.triangular_solve", "torch.linalg.solve_triangular")
    coefficients = A.mT if transpose else A
    is_upper = upper != transpose
    found = linalg.solve_triangular(
        coefficients, b, upper=is_upper, unitriangular=unitriangular
    )
    return write_out(_TriangularSolve(found, A.clone()), out)


def qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """``linalg.qr``, reduced with ``some``."""
    deprecated("torch.qr", "torch.linalg.qr")
    found = linalg.qr(input, "reduced" if some else "complete")
    return write_out(_QR(found.Q, found.R), out)


def svd(
    input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None
) -> Any:
    """``linalg.svd`` with V itself, not its transpose; zeros without ``compute_uv``."""
    u, s, vh = linalg.svd(input, full_matrices=not some)
    if not compute_uv:
        *batch, m, n = input.shape
        zeros = input.new_zeros
        return write_out(_SVD(zeros([*batch, m, m]), s, zeros([*batch, n, n])), out)
    return write_out(_SVD(u, s, vh.mH), out)


@in_float32
def ormqr(
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """``other`` multiplied by the Q that ``geqrf`` left in ``input`` and ``tau``."""
    x = other if left else other.mH
    count = tau.shape[-1]
    # Q is H1 H2 ... Hk; the adjoint of each H has tau conjugated.
    first_to_last = transpose if left else not transpose
    tau = tau.conj() if first_to_last else tau
    for k in range(count) if first_to_last else reversed(range(count)):
        x = reflected(x, input, tau, k)
    return write_out(x if left else x.mH, out)


# LU


@printed_as("lu_unpack")
class _LUUnpack(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None
) -> tuple[Tensor, ...]:
    """``linalg.lu_factor``, with its info too if ``get_infos``."""
    deprecated("torch.lu", "torch.linalg.lu_factor or lu_factor_ex")
    factors, pivots, info = linalg.lu_factor_ex(A, pivot=pivot)
    found = (factors, pivots, info) if get_infos else (factors, pivots)
    return write_out(found, out)


def lu_solve(
    b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None
) -> Tensor:
    """``linalg.lu_solve`` with the right side first."""
    return linalg.lu_solve(LU_data, LU_pivots, b, out=out)


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Any = None,
) -> Any:
    """P, L and U of what ``lu_factor`` gives; those not asked for are empty."""
    p, lower, upper = unpacked(LU_data, LU_pivots, unpack_pivots)
    if not unpack_data:
        lower, upper = LU_data.new_empty(0), LU_data.new_empty(0)
    return write_out(_LUUnpack(p, lower, upper), out)


def chain_matmul(*matrices: Tensor, out: Any = None) -> Tensor:
    """The old name of ``linalg.multi_dot``."""
    deprecated("torch.chain_matmul", "torch.linalg.multi_dot")
    return linalg.multi_dot(matrices, out=out)


def frobenius_norm(
    input: Tensor, dim: Any, keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """The root of the sum of squares over ``dim``."""
    return linalg.norm(input, dim=dim or None, keepdim=keepdim, out=out)


def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """The sum of the singular values."""
    return linalg.matrix_norm(input, "nuc", dim, keepdim, out=out)

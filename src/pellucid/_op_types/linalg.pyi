# mypy: disable-error-code="overload-cannot-match, overload-overlap, override"
"""Made by tools/make_stubs.py from the op table; the ops of torch.linalg.

Overloads stand in the order in which calls try them, so one may hide a later one.
"""

from builtins import (
    bool as _bool,
    complex as _complex,
    float as _float,
    int as _int,
    str as _str,
)
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from pellucid._C import (
    Generator,
    Size,
    TensorBase,
    device as _device,
    dtype as _dtype,
    layout as _layout,
    memory_format as _memory_format,
)
from pellucid._tensor import Tensor

_Number = _bool | _int | _float | _complex

class _linalg_svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor
class _linalg_solve_ex_result(NamedTuple):
    result: Tensor
    info: Tensor
class _linalg_slogdet_result(NamedTuple):
    sign: Tensor
    logabsdet: Tensor
class _linalg_qr_result(NamedTuple):
    Q: Tensor
    R: Tensor
class _linalg_lu_factor_ex_result(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor
class _linalg_lu_result(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor
class _linalg_ldl_factor_ex_result(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor
class _linalg_inv_ex_result(NamedTuple):
    inverse: Tensor
    info: Tensor
class _linalg_eig_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor
class _linalg_cholesky_ex_result(NamedTuple):
    L: Tensor
    info: Tensor
class _linalg_lstsq_result(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor
class _linalg_ldl_factor_result(NamedTuple):
    LD: Tensor
    pivots: Tensor
class _linalg_lu_factor_result(NamedTuple):
    LU: Tensor
    pivots: Tensor
class _linalg_eigh_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor
__all__ = [
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

def cholesky(input: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor: ...
def cholesky_ex(input: Tensor, *, upper: _bool = False, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _linalg_cholesky_ex_result: ...
@overload
def cond(input: Tensor, p: _str, *, out: Tensor | None = None) -> Tensor: ...
@overload
def cond(input: Tensor, p: _Number | None = None, *, out: Tensor | None = None) -> Tensor: ...
def cross(input: Tensor, other: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor: ...
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: ...
def eig(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _linalg_eig_result: ...
def eigh(input: Tensor, UPLO: _str = 'L', *, out: tuple[Tensor, ...] | None = None) -> _linalg_eigh_result: ...
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def eigvalsh(input: Tensor, UPLO: _str = 'L', *, out: Tensor | None = None) -> Tensor: ...
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inv_ex(A: Tensor, *, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _linalg_inv_ex_result: ...
def ldl_factor(input: Tensor, *, hermitian: _bool = False, out: tuple[Tensor, ...] | None = None) -> _linalg_ldl_factor_result: ...
def ldl_factor_ex(input: Tensor, *, hermitian: _bool = False, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _linalg_ldl_factor_ex_result: ...
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = False, out: Tensor | None = None) -> Tensor: ...
def lstsq(input: Tensor, b: Tensor, rcond: _float | None = None, *, driver: _str | None = None, out: tuple[Tensor, ...] | None = None) -> _linalg_lstsq_result: ...
def lu(A: Tensor, *, pivot: _bool = True, out: tuple[Tensor, ...] | None = None) -> _linalg_lu_result: ...
def lu_factor(A: Tensor, *, pivot: _bool = True, out: tuple[Tensor, ...] | None = None) -> _linalg_lu_factor_result: ...
def lu_factor_ex(A: Tensor, *, pivot: _bool = True, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _linalg_lu_factor_ex_result: ...
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = True, adjoint: _bool = False, out: Tensor | None = None) -> Tensor: ...
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_norm(input: Tensor, ord: _str = 'fro', dim: Sequence[_int] = [-2, -1], keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_norm(input: Tensor, ord: _Number, dim: Sequence[_int] = [-2, -1], keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_rank(input: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: _bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_rank(input: Tensor, *, atol: _float | None = None, rtol: _float | None = None, hermitian: _bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_rank(input: Tensor, tol: Tensor, hermitian: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_rank(input: Tensor, tol: _float, hermitian: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
@overload
def norm(input: Tensor, ord: _str, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def norm(input: Tensor, ord: _Number | None = None, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def pinv(input: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: _bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def pinv(input: Tensor, *, atol: _float | None = None, rtol: _float | None = None, hermitian: _bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def pinv(input: Tensor, rcond: Tensor, hermitian: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def pinv(input: Tensor, rcond: _float, hermitian: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def qr(A: Tensor, mode: _str = 'reduced', *, out: tuple[Tensor, ...] | None = None) -> _linalg_qr_result: ...
def slogdet(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _linalg_slogdet_result: ...
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor: ...
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = True, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _linalg_solve_ex_result: ...
def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool, left: _bool = True, unitriangular: _bool = False, out: Tensor | None = None) -> Tensor: ...
def svd(A: Tensor, full_matrices: _bool = True, *, driver: _str | None = None, out: tuple[Tensor, ...] | None = None) -> _linalg_svd_result: ...
def svdvals(A: Tensor, *, driver: _str | None = None, out: Tensor | None = None) -> Tensor: ...
def tensorinv(input: Tensor, ind: _int = 2, *, out: Tensor | None = None) -> Tensor: ...
def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor: ...
def vander(x: Tensor, *, N: _int | None = None) -> Tensor: ...
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor: ...
def vector_norm(input: Tensor, ord: _Number = 2, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...

"""``A = L D Lᵀ``: factors of symmetric matrices that need not be definite."""

from __future__ import annotations

from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid._calls.out_argument import write_out
from pellucid.linalg._errors import check
from pellucid.return_types import printed_as

__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]

_SINGULAR = "is singular: diagonal element {} of its factor D is zero"


@printed_as("linalg_ldl_factor")
class _LDLFactor(NamedTuple):
    LD: Tensor
    pivots: Tensor


@printed_as("linalg_ldl_factor_ex")
class _LDLFactorEx(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor


def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None
) -> _LDLFactorEx:
    """``ldl_factor`` and, instead of an error, 0 or the first zero on D's diagonal."""
    found = _LDLFactorEx(*pellucid._linalg_ldl(A, hermitian))
    if check_errors:
        check("ldl_factor_ex", found.info, _SINGULAR)
    return write_out(found, out)


def ldl_factor(A: Tensor, *, hermitian: bool = False, out: Any = None) -> _LDLFactor:
    """L and D of symmetric matrices (..., n, n) in one triangle, and the rows
    exchanged: negative numbers, twice, for blocks of two rows in D.

    The lower triangle is read; complex matrices are Hermitian with ``hermitian``.
    There is no gradient. ``LinAlgError`` if D has a zero.

    >>> A = torch.tensor([[0.0, 2.0], [2.0, 1.0]])
    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A), torch.eye(2)) @ A
    tensor([[1., 0.],
            [0., 1.]])
    """
    factors, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    check("ldl_factor", info, _SINGULAR)
    return write_out(_LDLFactor(factors, pivots), out)


def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Any = None
) -> Tensor:
    """X with ``A X = B`` for the A that ``ldl_factor`` took apart."""
    return write_out(pellucid._linalg_ldl_solve(LD, pivots, B, hermitian), out)

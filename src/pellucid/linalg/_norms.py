"""Norms and condition numbers of matrices."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _linalg
from pellucid._calls.out_argument import write_out
from pellucid.linalg._decompositions import svdvals
from pellucid.linalg._solutions import inv_ex

__all__ = ["cond", "matrix_norm", "norm"]

_ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """The norm of matrices in two dims.

    ``ord`` is "fro" (root of the sum of squares), "nuc" (sum of the singular values),
    2 or -2 (greatest, least singular value), 1 or -1 (of the sums of columns) or
    ``inf`` or ``-inf`` (of those of rows).
    """
    if ord not in _ORDERS:
        raise RuntimeError(f"linalg.matrix_norm: there is no norm of order {ord!r}")
    dims = [d % max(A.dim(), 1) for d in dim]
    if A.dim() < 2 or len(dims) != 2 or dims[0] == dims[1]:
        raise RuntimeError(
            f"linalg.matrix_norm: dim {tuple(dim)} of a tensor with {A.dim()} dims is "
            "no pair of dims"
        )
    A = A if dtype is None else A.to(dtype)
    if ord == "fro":
        found = _linalg.vector_norm(A, 2, dims, keepdim)
    elif ord in ("nuc", 2, -2):
        found = _of_singular_values(A, ord, dims, keepdim)
    else:
        summed, best = dims if abs(ord) == 1 else dims[::-1]
        sums = A.abs().sum(summed, keepdim=True)
        found = _greatest(sums, best) if ord > 0 else sums.amin(best, keepdim=True)
        found = found if keepdim else found.squeeze(sorted(dims))
    return write_out(found, out)


def _greatest(values: Tensor, dim: int) -> Tensor:
    """The greatest along a dim that stays; 0 if it is empty, as norms have it."""
    if not values.shape[dim]:
        return values.sum(dim, keepdim=True)
    return values.amax(dim, keepdim=True)


def _of_singular_values(A: Tensor, ord: Any, dims: list[int], keepdim: bool) -> Tensor:
    values = svdvals(A.movedim(dims, [-2, -1]))
    if ord == "nuc":
        found = values.sum(-1)
    else:
        found = _greatest(values, -1).squeeze(-1) if ord == 2 else values.amin(-1)
    if keepdim:
        for d in sorted(dims):
            found = found.unsqueeze(d)
    return found


def norm(
    A: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """A norm of vectors or, for two dims or names like "fro", of matrices.

    Without ``ord`` the root of the sum of squares over ``dim``.
    """
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    if ord is None:
        found = _linalg.vector_norm(A, 2, dims, keepdim, dtype=dtype)
    elif isinstance(ord, str) or (
        (dims is None and A.dim() == 2) or (dims is not None and len(dims) == 2)
    ):
        matrix_dims = (-2, -1) if dims is None else dims
        if dims is None and A.dim() != 2:
            raise RuntimeError(
                f"linalg.norm: order {ord!r} takes a matrix, not {A.dim()} dims; name "
                "two dims"
            )
        found = matrix_norm(A, ord, matrix_dims, keepdim, dtype=dtype)
    else:
        if dims is None and A.dim() > 2:
            raise RuntimeError(
                f"linalg.norm: order {ord!r} takes a vector or matrix, not {A.dim()} "
                "dims; name one or two dims"
            )
        found = _linalg.vector_norm(A, ord, dims, keepdim, dtype=dtype)
    return write_out(found, out)


def cond(A: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """The condition number: the norm of A times that of its inverse; infinite for
    singular matrices.
    """
    if p in (None, 2, -2):
        values = svdvals(A)
        if not values.shape[-1]:
            found = A.new_zeros(A.shape[:-2])
        elif p == -2:
            found = values[..., -1] / values[..., 0]
        else:
            found = values[..., 0] / values[..., -1]
    else:
        inverse, info = inv_ex(A)
        found = matrix_norm(A, p) * matrix_norm(inverse, p)
        found = pellucid.where(info == 0, found, math.inf)
    return write_out(found, out)

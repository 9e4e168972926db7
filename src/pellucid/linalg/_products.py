"""Products and powers: cross, vecdot, multi_dot, matrix_power, matrix_exp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._calls.argument_checks import unwrapped
from pellucid._calls.out_argument import write_out
from pellucid.linalg._solutions import inv

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "multi_dot",
    "vander",
    "vecdot",
]


def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The product of vectors, matrices or batches of them."""
    return pellucid.matmul(input, other, out=out) if out is not None else input @ other


def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """The cross product of vectors of 3 elements along ``dim``."""
    if input.dim() != other.dim():
        raise RuntimeError(
            f"linalg.cross: tensors of {input.dim()} and {other.dim()} dims; they must "
            "have as many"
        )
    return pellucid.cross(input, other, dim, out=out)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """The products of vectors along ``dim``, the first conjugated."""
    left = x.conj() if x.is_complex() else x
    return write_out((left * y).sum(dim), out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of matrices in the last two dims, as a view."""
    return A.diagonal(offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers from 0 on of each element along the last dim."""
    x = x if x.dim() else x.unsqueeze(0)
    count = x.shape[-1] if N is None else N
    if count < 2:
        raise RuntimeError(f"linalg.vander: N is {count}; give 2 or more")
    columns = [pellucid.ones_like(x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return pellucid.stack(columns, -1)


def multi_dot(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """The product of several matrices, in the order that costs least.

    The first and the last may be vectors.
    """
    if len(tensors) < 2:
        raise RuntimeError(
            f"linalg.multi_dot: {len(tensors)} tensors; give two or more"
        )
    first, *middle, last = tensors
    matrices = [
        first.unsqueeze(0) if first.dim() == 1 else first,
        *middle,
        last.unsqueeze(1) if last.dim() == 1 else last,
    ]
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(
                f"linalg.multi_dot: a tensor of {matrix.dim()} dims; give matrices, at "
                "the ends also vectors"
            )
    product = _chain(matrices, _best_splits(matrices), 0, len(matrices) - 1)
    if first.dim() == 1:
        product = product.squeeze(0)
    product = product.squeeze(-1) if last.dim() == 1 else product
    return write_out(product, out)


def _best_splits(matrices: list[Tensor]) -> dict[tuple[int, int], int]:
    """Where to split each run of factors (Cormen et al., 15.2)."""
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    count = len(matrices)
    cost = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], splits[i, j] = min(
                (
                    cost[i, k]
                    + cost[k + 1, j]
                    + sizes[i] * sizes[k + 1] * sizes[j + 1],
                    k,
                )
                for k in range(i, j)
            )
    return splits


def _chain(
    matrices: list[Tensor], splits: dict[tuple[int, int], int], i: int, j: int
) -> Tensor:
    if i == j:
        return matrices[i]
    k = splits[i, j]
    return _chain(matrices, splits, i, k) @ _chain(matrices, splits, k + 1, j)


def matrix_power(A: Tensor, n: int, *, out: Any = None) -> Tensor:
    """``A`` multiplied by itself; a negative ``n`` inverts first."""
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: shape {tuple(A.shape)} holds no square matrix"
        )
    if n == 0:
        return write_out(A.clone().copy_(pellucid.eye(A.shape[-1])), out)
    base = inv(A) if n < 0 else A
    power = None
    for bit in reversed(bin(abs(n))[2:]):
        if bit == "1":
            power = base if power is None else power @ base
        base = base @ base
    assert power is not None
    return write_out(power.clone() if power is A else power, out)


# Terms of Taylor's series, and up to which norm they reach the dtype's accuracy (Bader,
# Blanes and Casas 2019, table 1).
_TERMS = 18
_REACH = {pellucid.float32: 3.01, pellucid.float64: 1.09}


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices, by scaling and squaring (Moler and Van Loan
    2003, method 3).
    """
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_exp: shape {tuple(A.shape)} holds no square matrix"
        )
    if not A.numel():
        return A.clone()
    norms = A.detach().abs().sum(-2).amax(-1)[..., None, None]
    ratio = (norms / _REACH.get(A.dtype, 1.0)).clamp(min=1)
    halvings = pellucid.where(ratio.isfinite(), ratio, 1.0).log2().ceil()
    scaled = A * pellucid.exp2(-halvings)
    one = pellucid.eye(A.shape[-1], dtype=A.dtype)
    found = one + scaled / _TERMS
    for k in range(_TERMS - 1, 0, -1):
        found = one + scaled @ found / k
    for k in range(int(unwrapped(halvings).max())):
        found = pellucid.where(halvings > k, found @ found, found)
    return found

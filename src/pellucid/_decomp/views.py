"""Tensors in the order, size or dtype that a loop needs, by ops only where they differ.

Used by loop_values.py, loops.py, products.py and puts.py.
"""

from __future__ import annotations

import pellucid
from pellucid import Tensor
from pellucid._ops import ops

aten = ops.aten


def permuted(x: Tensor, order: list[int]) -> Tensor:
    found: Tensor = x if order == sorted(order) else aten.permute(x, order)
    return found


def transposed(x: Tensor, order: list[int]) -> Tensor:
    """The dims of a factor in another order; ``t`` and ``transpose`` of matrices."""
    found = x
    if order == [1, 0]:
        found = aten.t(x)
    elif order == [0, 2, 1]:
        found = aten.transpose.int(x, 1, 2)
    elif order != sorted(order):
        found = aten.permute(x, order)
    return found


def expanded_to(x: Tensor, size: list[int]) -> Tensor:
    return x if list(x.shape) == size else x.expand(size)


def as_long(x: Tensor) -> Tensor:
    return x if x.dtype is pellucid.int64 else x.to(pellucid.int64)

"""``make_tensor``: random tensors for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor


def _shape(arguments: tuple[Any, ...]) -> list[int]:
    if len(arguments) == 1 and not isinstance(arguments[0], int):
        return list(arguments[0])
    return list(arguments)


def make_tensor(
    *shape: int | Sequence[int],
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of ``shape`` with elements uniformly distributed in [``low``, ``high``).

    The bounds default to -9 and 9 (0 and 9 for uint8); bools are either.
    ``exclude_zero`` replaces zeros by the smallest positive number;
    ``noncontiguous`` uses only every other element of the memory.
    """
    sizes = _shape(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: give either noncontiguous or memory_format")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"make_tensor: tensors of {dtype} have no gradient")
    is_sliced = noncontiguous and math.prod(sizes) > 1
    drawn_sizes = [*sizes[:-1], 2 * sizes[-1]] if is_sliced else sizes
    with pellucid.device(device or "cpu"):
        result = _drawn(drawn_sizes, dtype, low, high)
    if is_sliced:
        result = result[..., 1::2]
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        least = 1 if not dtype.is_floating_point else pellucid.finfo(dtype).tiny
        result[result == 0] = least
    return result.requires_grad_(requires_grad)


def _bounds(dtype: Any, low: Any, high: Any, usual: tuple[Any, Any]) -> tuple[Any, Any]:
    """The given bounds, clamped to the dtype's range."""
    low, high = (u if x is None else x for x, u in zip((low, high), usual, strict=True))
    if math.isnan(low) or math.isnan(high) or low > high:
        raise ValueError(
            f"`low` and `high` must be numbers with low <= high, but got {low=} and "
            f"{high=}"
        )
    kind = dtype.to_real() if dtype.is_complex else dtype
    is_float = kind.is_floating_point
    limits = pellucid.finfo(kind) if is_float else pellucid.iinfo(kind)
    if high < limits.min or low > limits.max:
        raise ValueError(
            f"make_tensor: {dtype} has no value from {low} to {high}: its range is "
            f"{limits.min} to {limits.max}"
        )
    return max(low, limits.min), min(high, limits.max)


def _drawn(sizes: list[int], dtype: Any, low: Any, high: Any) -> Tensor:
    if dtype is pellucid.bool:
        low, high = (0 if low is None else low), (2 if high is None else high)
        return pellucid.randint(max(0, low), min(2, high), sizes, dtype=dtype)
    if dtype.is_floating_point or dtype.is_complex:
        low, high = _bounds(dtype, low, high, (-9, 9))
        result = pellucid.empty(sizes, dtype=dtype)
        numbers = pellucid.view_as_real(result) if dtype.is_complex else result
        if low == high:
            numbers.fill_(low)
        else:
            numbers.uniform_(low, high)
        return result
    low, high = _bounds(dtype, low, high, (-9 if dtype.is_signed else 0, 10))
    first, last = math.ceil(low), math.ceil(high)
    return pellucid.randint(first, max(last, first + 1), sizes, dtype=dtype)

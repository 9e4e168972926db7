"""Quantized nested tensors: a nested tensor whose values are quantized.

Called by the ops that make and read quantized tensors
(``pellucid_compiler/composites/quantized_tensors.py``). Design and measurements:
docs/rfc/nested-quantized.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nested._ops.parts import Parts, is_nested, split, wrapped


def on_values(function: Callable[..., Any], tensor: Tensor, *args: Any) -> Any:
    """``function`` of the values; results that have their elements are nested."""
    parts = split(tensor)
    found = function(parts.values, *args)
    is_like = isinstance(found, Tensor) and found.shape == parts.values.shape
    return parts.with_values(found) if is_like else found


def per_channel(
    function: Callable[..., Tensor],
    tensor: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    dtype: Any,
) -> Tensor:
    """Scales along dim 0 are of the examples, along the ragged dim of its rows (of a
    nested tensor of the same structure, or its values), else of a dim of the values.
    """
    parts = split(tensor)
    if not parts.is_jagged:
        raise NotImplementedError(
            "quantize_per_channel of a nested tensor needs layout=torch.jagged"
        )
    axis = wrapped(axis, parts.dim)
    given = [_of_values(parts, each, axis) for each in (scales, zero_points)]
    along = parts.axis - 1 if axis == 0 else axis - 1
    return parts.with_values(function(parts.values, *given, along, dtype))


def channel_axis(tensor: Tensor, function: Callable[[Tensor], int]) -> int:
    """The dim of the channels, counted with the batch."""
    return function(split(tensor).values) + 1


def _of_values(parts: Parts, given: Tensor, axis: int) -> Tensor:
    if is_nested(given):
        rows = split(given)
        if rows.structure is not parts.structure:
            raise RuntimeError(
                "scales of rows have the structure of the quantized tensor: make them "
                "with its offsets"
            )
        given = rows.values.reshape(-1)
    if axis:
        return given
    if given.shape != (parts.batch,):
        raise RuntimeError(
            f"expected {parts.batch} scales, one for each example, not a tensor of "
            f"shape {tuple(given.shape)}"
        )
    rows = parts.structure.rows(parts.values.shape[parts.axis - 1])
    return pellucid.index_select(given, 0, rows)

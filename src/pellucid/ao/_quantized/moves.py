"""Rules of ops that move elements: the op is applied to the integers.

These ops are identified by their declarations: a view, or a Graph without arithmetic.
Views of a quantized tensor share its integers. For a tensor with a scale per channel,
the op is also applied to a tensor of channel numbers, which shows the new channel dim.
If scales would be mixed, the op is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.graphs import graph_of
from pellucid._decomp.registry import declared
from pellucid.ao._quantized.parts import Parts, is_quantized, split


def move(op: Any, tensor: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The op on the integers; NotImplemented for an op that computes."""
    if not is_quantized(tensor) or any(map(is_quantized, _leaves((args, kwargs)))):
        return NotImplemented
    parts = split(tensor)
    if not op.is_view and not _moves_elements(op, parts.integers, args, kwargs):
        return NotImplemented
    moved = op(parts.integers, *args, **kwargs)
    if parts.axis is None:
        pieces = moved if isinstance(moved, (list, tuple)) else [moved]
        found = [parts.with_integers(each) for each in pieces]
    else:
        found = list(_with_channels(op, parts, moved, args, kwargs))
    return found if isinstance(moved, (list, tuple)) else found[0]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = tuple(value.values())
    if not isinstance(value, (list, tuple)):
        yield value
        return
    for item in value:
        yield from _leaves(item)


def _moves_elements(op: Any, integers: Tensor, args: Any, kwargs: Any) -> bool:
    from pellucid_compiler.ir.moving import moves_elements

    try:
        declaration = declared(op.name().removeprefix("aten::"))
    except KeyError:  # a composite: its ops are dispatched
        return False
    if any(argument.mutated for argument in declaration.schema.arguments):
        return False
    graph, _ = graph_of(declaration, (integers, *args), kwargs)
    return moves_elements(graph)


def _with_channels(
    op: Any, parts: Parts, moved: Any, args: Any, kwargs: Any
) -> Iterator[Tensor]:
    """The results with their channel axes."""
    shape = [1] * parts.integers.dim()
    shape[parts.axis or 0] = -1
    count = parts.scales.numel()
    numbers = pellucid.arange(count).view(shape).expand(parts.integers.shape)
    channels = op(numbers.contiguous(), *args, **kwargs)
    is_list = isinstance(moved, (list, tuple))
    for integers, found in zip(
        *((moved, channels) if is_list else ([moved], [channels])), strict=True
    ):
        axis = _axis_of(found, count, parts.axis or 0)
        if axis is None:
            raise RuntimeError(
                f"{op._schema.name.partition('::')[2]} of a tensor with a scale per "
                "channel is not supported: setting strides is possible only on "
                "uniformly quantized tensor; use dequantize()"
            )
        yield parts._replace(axis=axis).with_integers(integers)


def _axis_of(channels: Tensor, count: int, before: int) -> int | None:
    """The dim along which the channel numbers are in order; if several are possible,
    the previous one.
    """
    dims = [d for d, size in enumerate(channels.shape) if size == count]
    for dim in sorted(dims, key=lambda d: abs(d - before)):
        shape = [1] * channels.dim()
        shape[dim] = -1
        if bool((channels == pellucid.arange(count).view(shape)).all()):
            return dim
    return None


def clone(op: Any, tensor: Tensor, **kwargs: Any) -> Any:
    """A copy of the integers; the scales are shared, since they are never written."""
    parts = split(tensor)
    return parts.with_integers(op(parts.integers, **kwargs))


def contiguous(op: Any, tensor: Tensor, **kwargs: Any) -> Any:
    """The tensor itself if it is contiguous."""
    parts = split(tensor)
    made = op(parts.integers, **kwargs)
    return tensor if made is parts.integers else parts.with_integers(made)


def to(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """To its own dtype and device: itself; to another dtype: refused."""
    dtypes = [a for a in (*args, *kwargs.values()) if isinstance(a, pellucid.dtype)]
    if any(dtype is not tensor.dtype for dtype in dtypes):
        raise RuntimeError(
            "a quantized tensor is converted to another dtype by dequantize() or "
            "int_repr()"
        )
    if kwargs.get("copy") or op._schema.name == "aten::_to_copy":
        return tensor.clone()
    return tensor


def empty_like(op: Any, tensor: Tensor, *, dtype: Any = None, **kwargs: Any) -> Any:
    """Of another dtype: not quantized; else with the same scales."""
    parts = split(tensor)
    if dtype is not None and dtype is not tensor.dtype:
        return op(parts.integers, dtype=dtype, **kwargs)
    return parts.with_integers(op(parts.integers, **kwargs))


def cat(op: Any, tensors: Any, dim: int = 0) -> Any:
    """Concatenates in the scale of the first; the others are requantized."""
    if not all(map(is_quantized, tensors)):
        raise RuntimeError("cat: tensors must all be quantized, or none of them")
    parts = [split(each) for each in tensors]
    first = parts[0]
    if any(each.axis is not None for each in parts):
        raise RuntimeError("cat: every tensor must have one scale")
    if any(each.dtype is not first.dtype for each in parts):
        raise RuntimeError("cat: all tensors must have the same quantized dtype")
    same = all(
        (each.scale, each.zero_point) == (first.scale, first.zero_point)
        for each in parts
    )
    if same:
        return first.with_integers(op([each.integers for each in parts], dim))
    return first.like(op([each.floats() for each in parts], dim))


def stack(op: Any, tensors: Any, dim: int = 0) -> Any:
    """``cat`` of tensors with another dim."""
    rank = tensors[0].dim() + 1
    return pellucid.cat([each.unsqueeze(dim) for each in tensors], dim % rank)


RULES = {
    "clone": clone,
    "contiguous": contiguous,
    "to": to,
    "_to_copy": to,
    "empty_like": empty_like,
    "cat": cat,
    "concat": cat,
    "stack": stack,
}

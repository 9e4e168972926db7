"""Rules of ops that move elements: the op is applied to the integers.

These ops are identified by their declarations: a view, ops that join tensors, or a
Graph without arithmetic.
Views of a quantized tensor share its integers. For a tensor with a scale per channel,
the op is also applied to a tensor of channel numbers, which shows the new channel dim.
If scales would be mixed, the op is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.graphs import moves_elements, refuses
from pellucid._ops import facts
from pellucid.ao._quantized.parts import Parts, is_quantized, split


def is_copy(op: Any) -> bool:
    """Whether an op that makes a tensor of the same sizes copies the elements."""
    if op.is_view:
        return True
    needed = [a for a in op._schema.arguments if not a.has_default]
    sample = pellucid.zeros(1, dtype=pellucid.int8)
    return len(needed) == 1 and moves_elements(op, (sample,))


def same_sizes(op: Any, tensor: Tensor, **options: Any) -> Tensor:
    """A copy of the integers, with the scales, which are never written."""
    parts = split(tensor)
    made = op(parts.integers, **options)
    return tensor if made is parts.integers else parts.with_integers(made)


def move(op: Any, always: bool, /, *args: Any, **kwargs: Any) -> Any:
    """The op on the integers; NotImplemented for an op that computes, unless it
    ``always`` only moves elements.
    """
    if facts.is_pointwise(op):
        _require_one_dtype(op, args)
    given = _quantized(op, (*args, *kwargs.values()))
    if not given or any(map(_is_float, (*args, *kwargs.values()))):
        return NotImplemented
    parts = split(given[0])

    def on(integers: Callable[[Tensor], Tensor]) -> Any:
        """The arguments with integers in place of quantized tensors."""

        def stored(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return [stored(each) for each in value]
            return computable(op, integers(value)) if is_quantized(value) else value

        return [*map(stored, args)], {k: stored(v) for k, v in kwargs.items()}

    if not always:
        places, options = on(_float_like)
        if not moves_elements(op, places, options):
            return NotImplemented
    places, options = on(lambda each: _requantized(op, each, parts))
    return _with_scales(op, parts, op(*places, **options), args[1:], kwargs)


def _require_one_dtype(op: Any, args: Any) -> None:
    """RuntimeError if operands would be promoted: numbers given as tensors, too."""
    operands = {
        value.dtype if isinstance(value, Tensor) else type(value)
        for argument, value in zip(op._schema.arguments, args, strict=False)
        if argument.type == "Tensor"
    }
    if len(operands - {pellucid.bool}) > 1:
        raise RuntimeError(
            f"{op._opname}: a quantized tensor and other numbers have no common dtype: "
            "compute it in floats, tensor.dequantize()"
        )


def _is_float(value: Any) -> bool:
    """Whether it is a tensor of plain floats, which would become integers."""
    return isinstance(value, Tensor) and value.is_floating_point()


def _float_like(tensor: Tensor) -> Tensor:
    """A float tensor of these sizes: rounding keeps integers, but moves no floats."""
    return split(tensor).integers.new_empty(tensor.shape, dtype=pellucid.float32)


def view(op: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """A view of the integers."""
    parts = split(tensor)
    args = tuple(split(a).integers if is_quantized(a) else a for a in args)
    moved = op(parts.integers, *args, **kwargs)
    return _with_scales(op, parts, moved, args, kwargs)


def _with_scales(op: Any, parts: Parts, moved: Any, args: Any, kwargs: Any) -> Any:
    is_list = isinstance(moved, (list, tuple))
    if parts.axis is None:
        found = [with_computed(parts, e) for e in (moved if is_list else [moved])]
    else:
        found = list(_with_channels(op, parts, moved, args, kwargs))
    return found if is_list else found[0]


def computable(op: Any, integers: Tensor) -> Tensor:
    """The integers in a dtype that the op takes: floats represent them exactly."""
    if not refuses(op, integers.dtype):
        return integers
    return integers.double() if integers.itemsize > 1 else integers.float()


def with_computed(parts: Parts, integers: Tensor) -> Tensor:
    """The tensor with these scales and integers, in whatever dtype they are."""
    return parts.with_integers(integers.to(parts.integers.dtype))


def _requantized(op: Any, tensor: Tensor, first: Parts) -> Tensor:
    """The integers of a tensor in the scale of the first."""
    parts = split(tensor)
    if parts.integers is first.integers:
        return parts.integers
    if parts.axis is not None or first.axis is not None:
        raise RuntimeError(f"{op._opname}: every tensor must have one scale")
    if parts.dtype is not first.dtype:
        raise RuntimeError(
            f"{op._opname}: all tensors must have the same quantized dtype"
        )
    same = parts.scales.data_ptr() == first.scales.data_ptr() or (
        (parts.scale, parts.zero_point) == (first.scale, first.zero_point)
    )
    return (parts if same else split(first.like(parts.floats()))).integers


def _quantized(op: Any, values: Any) -> list[Tensor]:
    """The quantized tensors of the arguments; none if the first tensor is not."""
    found: list[Tensor] = []
    for value in values:
        given = value if isinstance(value, (list, tuple)) else (value,)
        own = [each for each in given if is_quantized(each)]
        if own and len(own) < len(given):
            raise NotImplementedError(
                f"{op._opname}: tensors must all be quantized, or none of them"
            )
        if not (own or found) and any(isinstance(each, Tensor) for each in given):
            return []
        found += own
    return found


def _with_channels(
    op: Any, parts: Parts, moved: Any, args: Any, kwargs: Any
) -> Iterator[Tensor]:
    """The results with their channel axes."""
    shape = [1] * parts.integers.dim()
    shape[parts.axis or 0] = -1
    count = parts.scales.numel()
    numbers = pellucid.arange(count).view(shape).expand(parts.integers.shape)
    channels = op(computable(op, numbers.contiguous()), *args, **kwargs)
    is_list = isinstance(moved, (list, tuple))
    for integers, found in zip(
        *((moved, channels) if is_list else ([moved], [channels])), strict=True
    ):
        chosen = _channels_of(found.long(), parts)
        if chosen is None:
            raise RuntimeError(
                f"{op._schema.name.partition('::')[2]} of a tensor with a scale per "
                "channel is not supported: setting strides is possible only on "
                "uniformly quantized tensor; use dequantize()"
            )
        yield with_computed(_of_channels(parts, *chosen), integers)


def _channels_of(channels: Tensor, parts: Parts) -> tuple[int | None, Tensor] | None:
    """(the dim along which alone the channel numbers change, the numbers), of at most
    as many channels as before; the dim is None for one channel of several. If several
    dims are possible, the previous one.
    """
    first, count, before = channels.flatten()[:1], parts.scales.numel(), parts.axis or 0
    can_be_single = count > 1 and not parts.has_float_zero_points
    if can_be_single and len(first) and bool((channels == first).all()):
        return None, first[0]
    dims = sorted(range(channels.dim()), key=lambda d: abs(d - before))
    if not len(first):
        kept = [dim for dim in dims if channels.shape[dim] == count]
        numbers = pellucid.arange(count) if kept else first
        return next(((dim, numbers) for dim in kept or dims), None)
    for dim in dims:
        numbers = channels.movedim(dim, -1).reshape(-1, channels.shape[dim])[:1]
        shape = [1] * channels.dim()
        shape[dim] = -1
        is_wider = numbers.shape[1] > count
        if not is_wider and bool((channels == numbers.view(shape)).all()):
            return dim, numbers[0]
    return None


def _of_channels(parts: Parts, axis: int | None, numbers: Tensor) -> Parts:
    """These channels' scales along ``axis``."""
    scales, zero_points = parts.scales, parts.zero_points
    if axis is not None and numbers.equal(pellucid.arange(scales.numel())):
        return parts._replace(axis=axis)
    return parts._replace(
        axis=axis, scales=scales[numbers], zero_points=zero_points[numbers]
    )

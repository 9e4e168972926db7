"""``quantize_per_tensor`` and the other functions that make quantized tensors."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered
from pellucid.ao._quantized.parts import (
    INTEGERS,
    QUANTIZED,
    Parts,
    is_quantized,
    per_tensor,
    quantized,
    split,
    to_integers,
)
from pellucid.ao._quantized.ranges import choose


def quantize_per_tensor(x: Tensor, scale: float, zero_point: int, dtype: Any) -> Tensor:
    """The tensor as integers of one scale."""
    _check(x, dtype, "quantize_per_tensor")
    _check_zero_point(zero_point, dtype)
    return quantized(x.detach(), scale, zero_point, dtype)


def quantize_per_tensor_dynamic(
    input: Tensor, dtype: Any, reduce_range: bool
) -> Tensor:
    """The tensor as integers, their scale by its least and greatest element."""
    _check(input, dtype, "quantize_per_tensor_dynamic")
    if dtype is pellucid.qint32:
        raise RuntimeError(
            "quantize_per_tensor_dynamic: dtype torch.qint32 has no range to choose a "
            "scale by; give torch.qint8 or torch.quint8"
        )
    scale, zero_point = choose(input, dtype, reduce_range)
    return quantized(input.detach(), scale, zero_point, dtype)


def quantize_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any
) -> Tensor:
    """The tensor as integers, with a scale for each index of dim ``axis``."""
    _check(input, dtype, "quantize_per_channel")
    axis = _check_channels(input, scales, zero_points, axis)
    if not scales.is_floating_point():
        raise RuntimeError(f"scales are floating point numbers, not {scales.dtype}")
    scales, zero_points = _channel_parts(scales, zero_points)
    if not zero_points.is_floating_point() and zero_points.numel():
        for bound in zero_points.aminmax():
            _check_zero_point(int(bound), dtype)
    parts = Parts(dtype, input, scales, zero_points, axis)
    integers = to_integers(
        input.detach(), parts.aligned(scales), parts.aligned(zero_points), dtype
    )
    return parts.with_integers(integers)


@offered.function
def _make_per_tensor_quantized_tensor(
    input: Tensor, scale: float, zero_point: int
) -> Tensor:
    """A quantized tensor of these integers (int8, uint8 or int32), copied."""
    dtype = _quantized_dtype(input)
    return per_tensor(input.detach().clone(), float(scale), int(zero_point), dtype)


@offered.function
def _make_per_channel_quantized_tensor(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int
) -> Tensor:
    """A quantized tensor of these integers and a scale per channel, copied."""
    dtype = _quantized_dtype(input)
    axis = _check_channels(input, scale, zero_point, axis)
    parts = _channel_parts(scale, zero_point)
    return Parts(dtype, input.detach().clone(), *parts, axis).tensor()


@offered.function
def _empty_affine_quantized(
    *size: Any,
    dtype: Any = None,
    scale: float = 1.0,
    zero_point: int = 0,
    device: Any = None,
    memory_format: Any = pellucid.contiguous_format,
    **options: Any,
) -> Tensor:
    """An uninitialised quantized tensor of this size."""
    integers, _, _ = INTEGERS[_checked_dtype(dtype)]
    sizes = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    made = pellucid.empty(
        tuple(sizes), dtype=integers, device=device, memory_format=memory_format
    )
    return per_tensor(made, float(scale), int(zero_point), dtype)


@offered.function
def _empty_per_channel_affine_quantized(
    *size: Any,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    dtype: Any = None,
    device: Any = None,
    memory_format: Any = pellucid.contiguous_format,
    **options: Any,
) -> Tensor:
    """An uninitialised tensor of this size with a scale per channel."""
    integers, _, _ = INTEGERS[_checked_dtype(dtype)]
    sizes = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    made = pellucid.empty(
        tuple(sizes), dtype=integers, device=device, memory_format=memory_format
    )
    axis = _check_channels(made, scales, zero_points, axis)
    return Parts(dtype, made, *_channel_parts(scales, zero_points), axis).tensor()


def empty_quantized(size: Any, like: Tensor, memory_format: Any) -> Tensor:
    """A tensor of this size with the scales of ``like``, not filled."""
    parts = split(like)
    made = pellucid.empty(
        tuple(size),
        dtype=parts.integers.dtype,
        device=like.device,
        memory_format=memory_format or pellucid.contiguous_format,
    )
    if parts.axis is not None:
        _check_channels(made, parts.scales, parts.zero_points, parts.axis)
    return parts.with_integers(made)


@offered.function
def _choose_qparams_per_tensor(
    input: Tensor, reduce_range: bool = False
) -> tuple[float, int]:
    """The scale and zero point of ``quantize_per_tensor_dynamic`` for ``quint8``."""
    return choose(input, pellucid.quint8, reduce_range)


def _checked_dtype(dtype: Any) -> Any:
    if dtype not in INTEGERS:
        raise RuntimeError(
            f"expected the dtype torch.qint8, torch.quint8 or torch.qint32, not {dtype}"
        )
    return dtype


def _quantized_dtype(integers: Tensor) -> Any:
    dtype = QUANTIZED.get(integers.dtype)
    if dtype is None:
        raise RuntimeError(
            "a quantized tensor is made from int8, uint8 or int32, not from "
            f"{integers.dtype}; for floats: torch.quantize_per_tensor"
        )
    return dtype


def _check(x: Tensor, dtype: Any, name: str) -> None:
    _checked_dtype(dtype)
    if is_quantized(x) or x.layout is not pellucid.strided:
        raise NotImplementedError(
            f"{name} takes a strided tensor of floats; this one is {x.dtype} of the "
            f"layout {x.layout}"
        )
    if x.dtype is not pellucid.float32:
        raise RuntimeError(
            f"{name}: expected a Float tensor, not {x.dtype}; give x.float()"
        )


def _check_zero_point(zero_point: int, dtype: Any) -> None:
    _, least, greatest = INTEGERS[dtype]
    if not least <= zero_point <= greatest:
        raise RuntimeError(
            f"the zero point {zero_point} is not within [{least}, {greatest}], which "
            f"{dtype} holds"
        )


def _check_channels(x: Tensor, scales: Tensor, zero_points: Tensor, axis: int) -> int:
    if not 0 <= axis < x.dim():
        raise RuntimeError(
            "Channel axis out of range in per channel affine quantization: got "
            f"{axis}, expected 0 to {x.dim() - 1}"
        )
    for name, each in (("scales", scales), ("zero_points", zero_points)):
        if each.dim() != 1 or each.numel() != x.shape[axis]:
            raise RuntimeError(
                f"expected {x.shape[axis]} {name}, one for each index of dim {axis}, "
                f"not a tensor of shape {tuple(each.shape)}"
            )
    return axis


def _channel_parts(scales: Tensor, zero_points: Tensor) -> tuple[Tensor, Tensor]:
    if zero_points.is_floating_point():
        return scales.detach().float(), zero_points.detach().float()
    return scales.detach().double(), zero_points.detach().long()

"""Fake quantization: rounds numbers to values that integers can represent.

The gradient passes where the integer is in range and is 0 elsewhere; learned scales and
zero points get gradients (Esser 2020).
"""

from __future__ import annotations

from typing import Any, cast

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered
from pellucid.ao._quantized.ranges import for_range_tensors
from pellucid.autograd import Function
from pellucid_compiler.composites import any_true, has_values


def with_mask(
    x: Tensor, scale: float, zero_point: int, least: int, most: int
) -> tuple[Tensor, Tensor]:
    """(numbers, where their integers are in bounds), with one scale."""
    _check_bounds(least, most)
    if not least <= zero_point <= most:
        raise RuntimeError(
            "`zero_point` must be between `quant_min` and `quant_max`: "
            f"{zero_point} is not within [{least}, {most}]"
        )
    one = pellucid.tensor(scale, dtype=pellucid.float32, device=x.device)
    return _rounded(x, one, zero_point, least, most)


def with_mask_by_tensors(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    enabled: Tensor,
    least: int,
    most: int,
) -> tuple[Tensor, Tensor]:
    """``with_mask`` by tensors of one element; the numbers themselves where ``enabled``
    is 0.
    """
    _check_bounds(least, most)
    if not any_true(enabled) and has_values(enabled):
        return x.clone(), pellucid.ones_like(x, dtype=pellucid.bool)
    scale = scale.detach().to(pellucid.float32)
    shape = () if scale.numel() == 1 else scale.shape
    point = zero_point.reshape(() if zero_point.numel() == 1 else zero_point.shape)
    return _rounded(x, scale.reshape(shape), point, least, most)


def with_mask_by_channels(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, least: int, most: int
) -> tuple[Tensor, Tensor]:
    """``with_mask`` with a scale for each index of ``axis``."""
    _check_bounds(least, most)
    _check_channels(x, scale, zero_point, axis)
    if zero_point.dtype not in (pellucid.int32, pellucid.float32, pellucid.float16):
        raise RuntimeError(
            "Zero-point must be Int32, Float or Half, found "
            f"{zero_point.dtype}; give zero_point.int()"
        )
    outside = (zero_point < least) | (zero_point > most)
    if not zero_point.is_floating_point() and any_true(outside):
        raise RuntimeError(
            "`zero_point` must be between `quant_min` and `quant_max`: "
            f"[{least}, {most}]"
        )
    shape = _channel_shape(x, axis)
    scale, zero_point = scale.detach().reshape(shape), zero_point.reshape(shape)
    return _rounded(x, scale, zero_point, least, most)


@offered.function
def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """Also has gradients of ``scale`` and ``zero_point``, times ``grad_factor``."""
    made: Tensor = _Learned.apply(
        input, scale, zero_point, quant_min, quant_max, grad_factor
    )
    return made


@offered.function
def _fake_quantize_learnable_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """Also has gradients of the scales and zero points of the channels."""
    _check_channels(input, scale, zero_point, axis)
    shape = _channel_shape(input, axis)
    made: Tensor = _Learned.apply(
        input,
        *(scale.reshape(shape), zero_point.reshape(shape)),
        *(quant_min, quant_max, grad_factor),
    )
    return made


def observed(
    x: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    least: int,
    most: int,
    axis: int,
    per_row: bool,
    is_symmetric: bool,
) -> tuple[Tensor, Tensor]:
    """``with_mask`` by a range that follows that of the numbers; writes the range, the
    scale and the zero point.
    """
    if any_true(observer_on):
        with pellucid.no_grad():
            low, high = _extremes(x.detach(), axis, per_row)
            _follow(running_min, low, averaging_const)
            _follow(running_max, high, averaging_const)
            scales, zero_points = for_range_tensors(
                *(running_min, running_max, least, most, is_symmetric)
            )
            _store(scale, scales)
            _store(zero_point, zero_points)
    if not any_true(fake_quant_on) and has_values(fake_quant_on):
        return x.clone(), pellucid.ones_like(x, dtype=pellucid.bool)
    if per_row:
        return with_mask_by_channels(x, scale, zero_point.int(), axis, least, most)
    return with_mask_by_tensors(x, scale, zero_point, fake_quant_on, least, most)


def _extremes(x: Tensor, axis: int, per_row: bool) -> tuple[Tensor, Tensor]:
    if not per_row:
        low, high = pellucid.aminmax(x)
        return low, high
    rows = x.transpose(0, axis).flatten(1) if axis else x.flatten(1)
    low, high = pellucid.aminmax(rows, dim=1)
    return low, high


def _follow(running: Tensor, seen: Tensor, rate: float) -> None:
    """The moving average, which starts with the first value."""
    if running.numel() != seen.numel():
        running.resize_(seen.shape).fill_(float("inf"))
    seen = seen.reshape(running.shape)
    moved = running + rate * (seen - running)
    running.copy_(pellucid.where(running.isinf(), seen, moved))


def _store(target: Tensor, value: Tensor) -> None:
    if target.numel() != value.numel():
        target.resize_(value.shape)
    target.copy_(value.reshape(target.shape))


def _rounded(
    x: Tensor, scale: Tensor, zero_point: Any, least: int, most: int
) -> tuple[Tensor, Tensor]:
    if not x.is_floating_point():
        raise NotImplementedError(
            f"fake quantization is not implemented for {x.dtype}; give x.float()"
        )
    return cast(
        tuple[Tensor, Tensor], _Rounded.apply(x, scale, zero_point, least, most)
    )


def _places(x: Tensor, scale: Tensor, zero_point: Any) -> Tensor:
    return cast(Tensor, (x * (1 / scale)).round() + zero_point)


def _check_bounds(least: int, most: int) -> None:
    if least > most:
        raise RuntimeError(
            "`quant_min` should be less than or equal to `quant_max`: "
            f"{least} is above {most}"
        )


def _channel_shape(x: Tensor, axis: int) -> list[int]:
    shape = [1] * x.dim()
    shape[axis] = -1
    return shape


def _check_channels(x: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> None:
    if not -x.dim() <= axis < x.dim():
        raise RuntimeError(f"`axis` must be within the {x.dim()} dims, not {axis}")
    if scale.numel() != x.shape[axis] or zero_point.numel() != scale.numel():
        raise RuntimeError(
            f"dimensions of scale and zero-point must be {x.shape[axis]}, the size of "
            f"dim {axis}, not {scale.numel()} and {zero_point.numel()}"
        )


class _Rounded(Function):
    """What integers within bounds represent, and which are within them."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, scale: Tensor, zero_point: Any, least: int, most: int
    ) -> tuple[Tensor, Tensor]:
        scale = scale.to(x.dtype)
        if isinstance(zero_point, Tensor) and zero_point.is_floating_point():
            places = (x * (1 / scale) + zero_point).round()  # it may be no integer
        else:
            places = _places(x, scale, zero_point)
        inside = (places >= least) & (places <= most)
        ctx.save_for_backward(inside)
        ctx.mark_non_differentiable(inside)
        held = places.clamp(least, most) - zero_point
        return held * scale, inside

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> Any:
        (inside,) = ctx.saved_tensors
        return grad * inside, None, None, None, None


class _Learned(Function):
    """``_Rounded`` with gradients of the scale and the zero point."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        least: int,
        most: int,
        factor: float,
    ) -> Tensor:
        rounded = zero_point.round().clamp(least, most)
        ctx.save_for_backward(x, scale, rounded)
        ctx.bounds, ctx.factor = (least, most), factor
        return (_places(x, scale, rounded).clamp(least, most) - rounded) * scale

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, scale, zero_point = ctx.saved_tensors
        least, most = ctx.bounds
        places = _places(x, scale, zero_point)
        inside = (places >= least) & (places <= most)
        held = places.clamp(least, most) - zero_point
        error = (held * scale - x) / scale
        slopes = pellucid.where(inside, error, held)
        of_scale = (grad * slopes * ctx.factor).sum_to_size(scale.shape)
        missed = pellucid.where(inside, 0.0, -scale * grad)
        of_zero = (missed * ctx.factor).sum_to_size(scale.shape)
        return grad * inside, of_scale, of_zero, None, None, None

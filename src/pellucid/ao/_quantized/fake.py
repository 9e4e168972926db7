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


@offered.function
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """``(clamp(round(x / scale) + zero_point) - zero_point) * scale``.

    ``scale`` and ``zero_point`` are numbers or tensors of one element; ``quant_min``
    and ``quant_max`` bound the integers. The gradient is that of the identity within
    the bounds.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.3, 9.0]), 0.5, 0, 0, 3)
    tensor([0.5000, 1.5000])
    """
    _check_bounds(quant_min, quant_max)
    low = None if isinstance(zero_point, Tensor) else int(zero_point)
    if low is not None and not quant_min <= low <= quant_max:
        raise RuntimeError(
            f"`zero_point` must be between `quant_min` and `quant_max`: {low} is not "
            f"within [{quant_min}, {quant_max}]"
        )
    scale = pellucid.as_tensor(scale, dtype=pellucid.float32).detach()
    return _apply(input, scale, zero_point, quant_min, quant_max)


@offered.function
def fake_quantize_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
) -> Tensor:
    """``fake_quantize_per_tensor_affine`` with a scale for each index of ``axis``."""
    _check_bounds(quant_min, quant_max)
    _check_channels(input, scale, zero_point, axis)
    if zero_point.dtype not in (pellucid.int32, pellucid.float32, pellucid.float16):
        raise RuntimeError(
            "Zero-point must be Int32, Float or Half, found "
            f"{zero_point.dtype}; give zero_point.int()"
        )
    outside = (zero_point < quant_min) | (zero_point > quant_max)
    if not zero_point.is_floating_point() and bool(outside.any()):
        raise RuntimeError(
            "`zero_point` must be between `quant_min` and `quant_max`: "
            f"[{quant_min}, {quant_max}]"
        )
    shape = _channel_shape(input, axis)
    scale, zero_point = scale.detach().reshape(shape), zero_point.reshape(shape)
    return _apply(input, scale, zero_point, quant_min, quant_max)


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


@offered.function
def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Observes ``input`` by a moving average and fake-quantizes it.

    Writes ``running_min``, ``running_max``, ``scale`` and ``zero_point``.
    """
    if bool(observer_on.any()) and input.numel():
        with pellucid.no_grad():
            low, high = _extremes(input.detach(), ch_axis, per_row_fake_quant)
            _follow(running_min, low, averaging_const)
            _follow(running_max, high, averaging_const)
            scales, zero_points = for_range_tensors(
                *(running_min, running_max, quant_min, quant_max, symmetric_quant)
            )
            _store(scale, scales)
            _store(zero_point, zero_points)
    if not bool(fake_quant_on.any()):
        return input.clone() if input.requires_grad else input
    if per_row_fake_quant:
        return fake_quantize_per_channel_affine(
            *(input, scale, zero_point.int(), ch_axis, quant_min, quant_max)
        )
    return _apply(
        *(input, scale.detach().reshape(()), zero_point.reshape(())),
        *(quant_min, quant_max),
    )


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


def _apply(x: Tensor, scale: Tensor, zero_point: Any, least: int, most: int) -> Tensor:
    made: Tensor = _Rounded.apply(x, scale, zero_point, least, most)
    return made


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
    """Autograd function: rounds to values of integers within bounds."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, scale: Tensor, zero_point: Any, least: int, most: int
    ) -> Tensor:
        scale = scale.to(x.dtype)
        if isinstance(zero_point, Tensor) and zero_point.is_floating_point():
            places = (x * (1 / scale) + zero_point).round()  # it may be no integer
        else:
            places = _places(x, scale, zero_point)
        ctx.save_for_backward((places >= least) & (places <= most))
        held = places.clamp(least, most) - zero_point
        return cast(Tensor, held * scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
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

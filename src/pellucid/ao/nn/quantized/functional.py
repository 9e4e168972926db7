"""``torch.ao.nn.quantized.functional``: functions on quantized tensors."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.ao._quantized.registry import called
from pellucid.nn.functional import (
    adaptive_avg_pool2d as adaptive_avg_pool2d,
)
from pellucid.nn.functional import adaptive_avg_pool3d as adaptive_avg_pool3d
from pellucid.nn.functional import avg_pool2d as avg_pool2d
from pellucid.nn.functional import avg_pool3d as avg_pool3d
from pellucid.nn.functional import hardtanh as hardtanh
from pellucid.nn.functional import interpolate as interpolate
from pellucid.nn.functional import max_pool1d as max_pool1d
from pellucid.nn.functional import max_pool2d as max_pool2d
from pellucid.nn.functional import threshold as threshold
from pellucid.nn.functional import upsample as upsample
from pellucid.nn.functional import upsample_bilinear as upsample_bilinear
from pellucid.nn.functional import upsample_nearest as upsample_nearest


def linear(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Any:
    """``input @ weight.T + bias``; scale and zero point are by default the input's."""
    packed = called("linear_prepack", weight, bias)
    return called("linear", input, packed, *_scale(input, scale, zero_point))


def _scale(input: Tensor, scale: float | None, zero_point: int | None) -> Any:
    return (
        input.q_scale() if scale is None else scale,
        input.q_zero_point() if zero_point is None else zero_point,
    )


def _convolution(dims: int) -> Any:
    def call(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        scale: float = 1.0,
        zero_point: int = 0,
        dtype: Any = None,
    ) -> Any:
        if padding_mode != "zeros":
            raise NotImplementedError("Only zero-padding is supported!")
        given = [
            [each] * dims if isinstance(each, int) else list(each)
            for each in (stride, padding, dilation)
        ]
        packed = called(f"conv{dims}d_prepack", weight, bias, *given, groups)
        return called(f"conv{dims}d", input, packed, scale, zero_point)

    call.__name__ = call.__qualname__ = f"conv{dims}d"
    call.__doc__ = f"The convolution of {dims} dims, with a scale and a zero point."
    return call


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


def celu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """``celu(input)`` with a given output scale."""
    return called("celu", input, scale, zero_point, alpha)


def elu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """``elu(input)`` with a given output scale."""
    return called("elu", input, scale, zero_point, alpha)


def hardswish(input: Tensor, scale: float, zero_point: int) -> Any:
    """``hardswish(input)`` with a given output scale."""
    return called("hardswish", input, scale, zero_point)


def leaky_relu(
    input: Tensor,
    negative_slope: float = 0.01,
    inplace: bool = False,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Any:
    """``leaky_relu(input)``; scale and zero point are by default the input's."""
    given = _scale(input, scale, zero_point)
    return called("leaky_relu", input, negative_slope, inplace, *given)


def clamp(input: Tensor, min_: float, max_: float) -> Any:
    """``clamp(input)`` with its scale."""
    return called("clamp", input, min_, max_)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Any:
    """``hardsigmoid(input)``, of scale 1/256."""
    import pellucid

    return pellucid.nn.functional.hardsigmoid(input, inplace)


__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool2d",
    "avg_pool3d",
    "celu",
    "clamp",
    "conv1d",
    "conv2d",
    "conv3d",
    "elu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "interpolate",
    "leaky_relu",
    "linear",
    "max_pool1d",
    "max_pool2d",
    "threshold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

"""``torch.ao.nn.intrinsic.quantized``: quantized layers with fused activations."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn import quantized as nnq


class LinearReLU(nnq.Linear):
    """``relu`` of a quantized linear layer."""

    _OP = "linear_relu"

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"


class _WithArguments(nnq.Linear):
    def _more(self) -> tuple[Any, ...]:
        return ()

    def forward(self, x: Tensor) -> Any:
        """``x``: quantized; the result is quantized, too."""
        packed = self._packed_params._packed_params
        given = self.scale, self.zero_point
        return called(self._OP, x, packed, *given, *self._more())


class LinearLeakyReLU(_WithArguments):
    """``leaky_relu`` of a quantized linear layer."""

    _OP = "linear_leaky_relu"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        negative_slope: float,
        bias: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias)
        self.negative_slope = negative_slope

    def _more(self) -> tuple[Any, ...]:
        return (self.negative_slope,)

    def _get_name(self) -> str:
        return "QuantizedLinearLeakyReLU"

    @classmethod
    def _like(cls, mod: Any) -> Any:
        layer, activation = mod
        slope = activation.negative_slope
        return cls(layer.in_features, layer.out_features, slope)


class LinearTanh(_WithArguments):
    """``tanh`` of a quantized linear layer."""

    _OP = "linear_tanh"

    def _get_name(self) -> str:
        return "QuantizedLinearTanh"


class ConvReLU1d(nnq.Conv1d):
    """``relu`` of a quantized convolution."""

    _OP = "conv1d_relu"

    def _get_name(self) -> str:
        return "QuantizedConvReLU1d"


class ConvReLU2d(nnq.Conv2d):
    """``relu`` of a quantized convolution."""

    _OP = "conv2d_relu"

    def _get_name(self) -> str:
        return "QuantizedConvReLU2d"


class ConvReLU3d(nnq.Conv3d):
    """``relu`` of a quantized convolution."""

    _OP = "conv3d_relu"

    def _get_name(self) -> str:
        return "QuantizedConvReLU3d"


class BNReLU2d(nnq.BatchNorm2d):
    """``relu`` of a quantized batch norm."""

    _OP = "batch_norm_relu"

    def _get_name(self) -> str:
        return "QuantizedBNReLU2d"


class BNReLU3d(nnq.BatchNorm3d):
    """``relu`` of a quantized batch norm."""

    _OP = "batch_norm_relu"

    def _get_name(self) -> str:
        return "QuantizedBNReLU3d"


__all__ = [
    "BNReLU2d",
    "BNReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearLeakyReLU",
    "LinearReLU",
    "LinearTanh",
]


def __getattr__(name: str) -> object:
    """Imports ``dynamic`` at first use."""
    if name == "dynamic":
        from importlib import import_module

        return import_module("pellucid.ao.nn.intrinsic.quantized.dynamic")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Norms of quantized tensors, with an output scale."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn.quantized.weights import WithScale, inner


class _BatchNorm(WithScale):
    """Batch norm by running statistics."""

    _OP = "batch_norm"

    def _init_scale(self: Any) -> None:
        self.register_buffer("scale", pellucid.tensor(1.0))
        self.register_buffer("zero_point", pellucid.tensor(0))

    def forward(self: Any, input: Tensor) -> Any:
        """``input``: quantized; the result is quantized, too."""
        return called(
            self._OP,
            *(input, self.weight, self.bias, self.running_mean, self.running_var),
            *(self.eps, float(self.scale), int(self.zero_point)),
        )

    @classmethod
    def from_reference(cls: Any, bn: Any, scale: float, zero_point: int) -> Any:
        """Converts a float norm, possibly fused with relu."""
        layer = inner(bn)
        made = cls(layer.num_features, layer.eps)
        made.weight, made.bias = layer.weight, layer.bias
        made.running_mean, made.running_var = layer.running_mean, layer.running_var
        made.scale = pellucid.tensor(float(scale))
        made.zero_point = pellucid.tensor(int(zero_point))
        return made


class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """``nn.BatchNorm2d`` of quantized tensors."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum)
        self._init_scale()

    def _get_name(self) -> str:
        return "QuantizedBatchNorm2d"


class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """``nn.BatchNorm3d`` of quantized tensors."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum)
        self._init_scale()

    def _get_name(self) -> str:
        return "QuantizedBatchNorm3d"


class _OwnMoments(WithScale):
    """Norms by the moments of their input."""

    def _take(self: Any, weight: Any, bias: Any, scale: float, zero_point: int) -> None:
        self.weight, self.bias = weight, bias
        self.register_buffer("scale", pellucid.tensor(scale))
        self.register_buffer("zero_point", pellucid.tensor(zero_point))

    def _last(self: Any) -> tuple[Any, ...]:
        given = (self.weight, self.bias, self.eps)
        return *given, float(self.scale), int(self.zero_point)


class LayerNorm(_OwnMoments, nn.LayerNorm):
    """``nn.LayerNorm`` of quantized tensors."""

    def __init__(
        self,
        normalized_shape: Any,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        self._take(weight, bias, scale, zero_point)

    def forward(self, input: Tensor) -> Any:
        """``input``: quantized; the result is quantized, too."""
        return called("layer_norm", input, self.normalized_shape, *self._last())

    def _get_name(self) -> str:
        return "QuantizedLayerNorm"

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> Any:
        """Converts a float norm."""
        given = (mod.weight, mod.bias, float(scale), int(zero_point))
        return cls(mod.normalized_shape, *given, mod.eps, mod.elementwise_affine)


class GroupNorm(_OwnMoments, nn.GroupNorm):
    """``nn.GroupNorm`` of quantized tensors."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_groups, num_channels, eps, affine)
        self._take(weight, bias, scale, zero_point)

    def forward(self, input: Tensor) -> Any:
        """``input``: quantized; the result is quantized, too."""
        return called("group_norm", input, self.num_groups, *self._last())

    def _get_name(self) -> str:
        return "QuantizedGroupNorm"

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> Any:
        """Converts a float norm."""
        given = (mod.weight, mod.bias, float(scale), int(zero_point))
        return cls(mod.num_groups, mod.num_channels, *given, mod.eps, mod.affine)


class _InstanceNorm(_OwnMoments):
    _float: Any = None

    def __init__(
        self: Any,
        num_features: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        given = (num_features, eps, momentum, affine, track_running_stats)
        self._float.__init__(self, *given)
        self._take(weight, bias, scale, zero_point)

    def forward(self: Any, input: Tensor) -> Any:
        """``input``: quantized; the result is quantized, too."""
        return called("instance_norm", input, *self._last())

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_reference(cls: Any, mod: Any, scale: float, zero_point: int) -> Any:
        """Converts a float norm."""
        given = (mod.weight, mod.bias, float(scale), int(zero_point))
        return cls(mod.num_features, *given, mod.eps, mod.affine)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """``nn.InstanceNorm1d`` of quantized tensors."""

    _float = nn.InstanceNorm1d


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """``nn.InstanceNorm2d`` of quantized tensors."""

    _float = nn.InstanceNorm2d


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """``nn.InstanceNorm3d`` of quantized tensors."""

    _float = nn.InstanceNorm3d

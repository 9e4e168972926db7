"""Stubs that quantize and dequantize; activations with an output scale."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn.quantized.weights import WithScale, quantized_weight


class Quantize(nn.Module):
    """Quantizes floats with a fixed scale."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, scale: Any, zero_point: Any, dtype: Any, factory_kwargs: Any = None
    ) -> None:
        super().__init__()
        self.register_buffer("scale", pellucid.as_tensor(scale).reshape(-1).float())
        points = pellucid.as_tensor(zero_point).reshape(-1).long()
        self.register_buffer("zero_point", points)
        self.dtype = dtype

    def forward(self, X: Tensor) -> Any:
        """``X`` quantized."""
        given = float(self.scale), int(self.zero_point)
        return pellucid.quantize_per_tensor(X, *given, self.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """Converts a stub, by its observer."""
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return cls(scale.float(), zero_point.long(), mod.activation_post_process.dtype)


class DeQuantize(nn.Module):
    """Dequantizes to floats."""

    def forward(self, Xq: Tensor) -> Any:
        """``Xq`` as floats."""
        return Xq.dequantize()

    @classmethod
    def from_float(
        cls, mod: Any, use_precomputed_fake_quant: bool = False
    ) -> DeQuantize:
        """Converts a stub."""
        return cls()


class ReLU6(nn.ReLU):
    """``relu6`` with the scale of its input."""

    def forward(self, input: Tensor) -> Any:
        """``min(max(input, 0), 6)``"""
        return called("relu6", input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """Converts an ``nn.ReLU6``."""
        return ReLU6(mod.inplace)


class Dropout(WithScale, nn.Dropout):
    """The identity: quantized models are not trained."""

    def forward(self, input: Tensor) -> Any:
        """``input``"""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> Dropout:
        """Converts an ``nn.Dropout``; the result has the scale of the input."""
        return cls(mod.p, mod.inplace)


class _Buffers(WithScale):
    """For layers whose scale and zero point are buffers."""

    def _register(self: Any, scale: float, zero_point: int) -> None:
        self.register_buffer("scale", pellucid.tensor(scale))
        self.register_buffer("zero_point", pellucid.tensor(zero_point))

    def _given(self: Any) -> tuple[float, int]:
        return float(self.scale), int(self.zero_point)


class Hardswish(_Buffers, nn.Hardswish):
    """``hardswish`` with an output scale."""

    def __init__(
        self, scale: float, zero_point: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self._register(scale, zero_point)

    def forward(self, input: Tensor) -> Any:
        """``hardswish(input)``"""
        return called("hardswish", input, *self._given())

    def _get_name(self) -> str:
        return "QuantizedHardswish"

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> Hardswish:
        """Converts an ``nn.Hardswish``."""
        return cls(float(scale), int(zero_point))


class LeakyReLU(_Buffers, nn.LeakyReLU):
    """``leaky_relu`` with an output scale."""

    def __init__(
        self,
        scale: float,
        zero_point: int,
        negative_slope: float = 0.01,
        inplace: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(negative_slope, inplace)
        self._register(scale, zero_point)

    def forward(self, input: Tensor) -> Any:
        """``leaky_relu(input)``"""
        slope, inplace = self.negative_slope, self.inplace
        return called("leaky_relu", input, slope, inplace, *self._given())

    def _get_name(self) -> str:
        return "QuantizedLeakyReLU"

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> LeakyReLU:
        """Converts an ``nn.LeakyReLU``."""
        return cls(float(scale), int(zero_point), mod.negative_slope, mod.inplace)


class ELU(WithScale, nn.ELU):
    """``elu`` with an output scale."""

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Tensor) -> Any:
        """``elu(input)``"""
        return called("elu", input, self.scale, self.zero_point, self.alpha)

    def _get_name(self) -> str:
        return "QuantizedELU"

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> ELU:
        """Converts an ``nn.ELU``."""
        return cls(float(scale), int(zero_point), mod.alpha)


class Sigmoid(WithScale, nn.Sigmoid):
    """``sigmoid`` with an output scale."""

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: Tensor) -> Any:
        """``sigmoid(input)``"""
        return called("sigmoid", input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> Sigmoid:
        """Converts an ``nn.Sigmoid``."""
        return cls(float(scale), int(zero_point))


class Softmax(WithScale, nn.Softmax):
    """``softmax`` with an output scale."""

    def __init__(
        self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0
    ) -> None:
        super().__init__(dim)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Tensor) -> Any:
        """``softmax(input, dim)``; the default dim is 0 for 0, 1 or 3 dims, else 1."""
        dim = self.dim
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return called("softmax", input, dim, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedSoftmax"

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> Softmax:
        """Converts an ``nn.Softmax``."""
        return cls(mod.dim, float(scale), int(zero_point))


class PReLU(WithScale, nn.Module):
    """``prelu`` with an output scale."""

    def __init__(
        self, output_scale: float, output_zero_point: int, num_parameters: int = 1
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.scale, self.zero_point = output_scale, output_zero_point
        slopes = pellucid.full((num_parameters,), 0.25)
        self.set_weight(slopes)

    def set_weight(self, w: Tensor) -> None:
        """Quantizes and sets the slopes."""
        scale = float(w.detach().abs().max()) / 255 or 1.0
        point = 255 if float(w.detach().min()) < 0 else 0
        self.weight = pellucid.quantize_per_tensor(
            w.detach(), scale, point, pellucid.quint8
        )

    def forward(self, input: Tensor) -> Any:
        """``prelu(input, weight)``"""
        return called("prelu", input, self.weight, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedPReLU"

    @classmethod
    def from_reference(cls, mod: Any, scale: float, zero_point: int) -> PReLU:
        """Converts an ``nn.PReLU``, whose qconfig observes the slopes."""
        made = cls(float(scale), int(zero_point), mod.num_parameters)
        observer = mod.qconfig.weight()
        observer(mod.weight.float())
        if observer.dtype is not pellucid.quint8:
            raise AssertionError(
                "PReLU's weight observer must have dtype quint8 but got "
                f"{observer.dtype}"
            )
        made.weight = quantized_weight(mod.weight.float(), observer)
        return made

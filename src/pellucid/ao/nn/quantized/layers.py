"""Layers of quantized tensors: their weights are int8, their results have one scale."""

from __future__ import annotations

from typing import Any

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor, nn
from pellucid.ao._quantized.parts import quantized
from pellucid.ao.nn.quantized.products import PackedWeight, static


class Quantize(nn.Module):
    """Floats to a quantized tensor of a known scale."""

    scale: Tensor
    zero_point: Tensor

    def __init__(self, scale: Any, zero_point: Any, dtype: Any) -> None:
        super().__init__()
        self.register_buffer("scale", pellucid.as_tensor(scale).reshape(-1).float())
        points = pellucid.as_tensor(zero_point).reshape(-1).long()
        self.register_buffer("zero_point", points)
        self.dtype = dtype

    def forward(self, X: Tensor) -> Any:
        return pellucid.quantize_per_tensor(
            X, float(self.scale), int(self.zero_point), self.dtype
        )

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"

    @classmethod
    def from_float(cls, mod: Any, **_: Any) -> Quantize:
        """By the observer of a stub."""
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return cls(scale, zero_point, mod.activation_post_process.dtype)


class DeQuantize(nn.Module):
    """A quantized tensor to floats."""

    def forward(self, Xq: Tensor) -> Any:
        return Xq.dequantize()

    @classmethod
    def from_float(cls, mod: Any, **_: Any) -> DeQuantize:
        """In place of a stub."""
        return cls()


class _Packed(nn.Module):
    """A layer with an int8 weight; ``KIND`` is its float form."""

    KIND: Any = None
    is_relu = False
    packed: PackedWeight

    def weight(self) -> Tensor:
        """The quantized weight."""
        return self.packed.weight

    def bias(self) -> Tensor | None:
        """The bias, float."""
        return self.packed.bias

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Replace both."""
        self.packed = PackedWeight(w, b)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[no-untyped-call]
        destination[prefix + "weight"] = self.packed.weight
        destination[prefix + "bias"] = self.packed.bias
        destination[prefix + "scale"] = pellucid.tensor(self.scale)
        destination[prefix + "zero_point"] = pellucid.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        take = state_dict.pop
        self.set_weight_bias(take(prefix + "weight"), take(prefix + "bias"))
        self.scale = float(take(prefix + "scale"))
        self.zero_point = int(take(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    @classmethod
    def from_float(cls, mod: Any, **_: Any) -> Any:
        """By the observers of a float layer."""
        observer = mod.activation_post_process
        layer = mod[0] if isinstance(mod, nn.Sequential) else mod
        made = cls._like(layer)
        made.set_weight_bias(quantized_weight(layer, mod.qconfig), layer.bias)
        scale, zero_point = observer.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made

"""The scales of float weights, by the weights' names.

For a weight ``w`` a layer has ``w_qscheme``, ``w_dtype`` and ``w_axis_int``, and the
buffers ``w_scale``, ``w_zero_point`` and ``w_axis``. The qscheme of a dtype without
scales (float16) is None.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor

_SCHEMES = (
    *(None, pellucid.per_tensor_affine, pellucid.per_channel_affine),
    pellucid.per_channel_affine_float_qparams,
)
_WHOLE: dict[str, Any] = {
    "qscheme": pellucid.per_tensor_affine,
    "dtype": pellucid.quint8,
    "scale": 1.0,
    "zero_point": 0,
}


def _number(value: Any, dtype: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach().clone()
    made: Tensor = pellucid.tensor(value, dtype=dtype)
    return made


class RoundedWeights:
    """A mixin for float layers that rounds their weights."""

    def take_scales(self: Any, name: str, qparams: dict[str, Any] | None) -> None:
        """Sets a weight's "qscheme", "dtype", "scale", "zero_point" and "axis"."""
        given = qparams or _WHOLE
        if given["qscheme"] not in _SCHEMES:
            raise AssertionError(
                f"qscheme: {given['qscheme']} is not supported in {self._get_name()}"
            )
        setattr(self, f"{name}_qscheme", given["qscheme"])
        setattr(self, f"{name}_dtype", given["dtype"])
        has_scale = given["qscheme"] is not None
        scale = given["scale"] if has_scale else 1.0
        zero_point = given["zero_point"] if has_scale else 0
        axis = given.get("axis", 0)
        self.register_buffer(f"{name}_scale", _number(scale, pellucid.float))
        self.register_buffer(f"{name}_zero_point", _number(zero_point, pellucid.int))
        self.register_buffer(f"{name}_axis", _number(axis, pellucid.int))
        setattr(self, f"{name}_axis_int", int(axis))

    def quantized_weight_of(self: Any, name: str) -> Any:
        """The quantized weight of a name, or converted to a dtype without scales."""
        weight, dtype = getattr(self, name), getattr(self, f"{name}_dtype")
        scheme = getattr(self, f"{name}_qscheme")
        if scheme is None:
            return weight.to(dtype)
        scale = getattr(self, f"{name}_scale")
        zero_point = getattr(self, f"{name}_zero_point")
        if scheme is pellucid.per_tensor_affine:
            given = float(scale), int(zero_point)
            return pellucid.quantize_per_tensor(weight.detach(), *given, dtype)
        axis = getattr(self, f"{name}_axis_int")
        return pellucid.quantize_per_channel(
            weight.detach(), scale, zero_point, axis, dtype
        )

    def rounded_weight_of(self: Any, name: str) -> Any:
        """The rounded weight of a name, float."""
        if getattr(self, f"{name}_qscheme") is None:
            return getattr(self, name)
        return self.quantized_weight_of(name).dequantize()


class OneWeight(RoundedWeights):
    """A layer with one weight, ``weight``; its scheme is stored in state dicts."""

    def get_weight(self) -> Any:
        """The rounded weight, float."""
        return self.rounded_weight_of("weight")

    def get_quantized_weight(self) -> Any:
        """The quantized weight."""
        return self.quantized_weight_of("weight")

    def _save_to_state_dict(
        self: Any, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        for name in ("weight_qscheme", "weight_dtype"):
            destination[prefix + name] = getattr(self, name)

    def _load_from_state_dict(
        self: Any, state_dict: Any, prefix: str, *rest: Any
    ) -> None:
        for name in ("weight_qscheme", "weight_dtype"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict.pop(prefix + name))
            else:
                rest[2].append(prefix + name)
        for name in ("weight_scale", "weight_zero_point", "weight_axis"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)  # type: ignore[misc]
        self.weight_axis_int = int(self.weight_axis)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}(Reference)"

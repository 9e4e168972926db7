"""``Linear`` with an int8 weight and a quantized result."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.parts import split
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn.quantized.printing import WithoutChildren
from pellucid.ao.nn.quantized.scaled import Scaled
from pellucid.ao.nn.quantized.weights import WithWeight, inner


class LinearPackedParams(nn.Module):
    """A packed weight and bias, saved unpacked."""

    def __init__(self, dtype: Any = pellucid.qint8) -> None:
        super().__init__()
        if dtype not in (pellucid.qint8, pellucid.float16):
            raise RuntimeError(
                f"Unsupported dtype {dtype}: give torch.qint8 or torch.float16"
            )
        self.dtype = dtype
        self._packed_params: Any = None

    def set_weight_bias(self, weight: Tensor, bias: Tensor | None) -> None:
        """Packs both."""
        name = "linear_prepack"
        if self.dtype is pellucid.float16:
            name = "linear_prepack_fp16"
        self._packed_params = called(name, weight, bias)

    def _weight_bias(self) -> tuple[Tensor, Tensor | None]:
        found: tuple[Tensor, Tensor | None] = self._packed_params.unpack()
        return found

    def forward(self, x: Tensor) -> Tensor:
        """``x``"""
        return x

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        *rest: Any,
    ) -> None:
        missing = rest[0]
        for name in ("dtype", "_packed_params"):
            if prefix + name not in state_dict:
                missing.append(prefix + name)
                return
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}"


class Linear(WithWeight, Scaled, WithoutChildren):
    """``x @ weight.T + bias`` of a quantized ``x``, with one scale.

    >>> layer = torch.ao.nn.quantized.Linear(3, 2)
    >>> x = torch.quantize_per_tensor(torch.ones(4, 3), 0.1, 0, torch.quint8)
    >>> layer(x).shape
    torch.Size([4, 2])
    """

    _OP = "linear"
    _float_module: Any = nn.Linear

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias_: bool = True,
        dtype: Any = pellucid.qint8,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.scale, self.zero_point = 1.0, 0
        bias = pellucid.zeros(out_features) if bias_ else None
        weight = pellucid.zeros(out_features, in_features)
        if dtype is not pellucid.float16:
            weight = pellucid.quantize_per_tensor(weight, 1.0, 0, pellucid.qint8)
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)

    def forward(self, x: Tensor) -> Any:
        """``x``: quantized, ``[..., in_features]``; the result is quantized, too."""
        packed = self._packed_params._packed_params
        return called(self._OP, x, packed, self.scale, self.zero_point)

    def _weight_bias(self) -> tuple[Tensor, Tensor | None]:
        return self._packed_params._weight_bias()

    def weight(self) -> Tensor:
        """The quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Tensor | None:
        """The bias, float."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Replaces both."""
        self._packed_params.set_weight_bias(w, b)

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"scale={self.scale}, zero_point={self.zero_point}, "
            f"qscheme={split(self.weight()).scheme}"
        )

    @classmethod
    def _like(cls, mod: Any) -> Any:
        layer = inner(mod)
        return cls(layer.in_features, layer.out_features)

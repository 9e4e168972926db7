"""Dynamically quantized linear layers and convolutions."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import is_quantized, split
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn import quantized as nnq
from pellucid.ao.nn.quantized.weights import folded, inner, observed_weight


class Linear(nnq.Linear):
    """``nn.Linear`` with an int8 weight, or one rounded to float16.

    >>> layer = torch.ao.nn.quantized.dynamic.Linear(3, 2)
    >>> layer(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    _OP = "linear"

    def forward(self, x: Tensor) -> Any:
        """``x``: float32 ``[..., in_features]``"""
        packed = self._packed_params
        if packed.dtype is pellucid.float16:
            return called(f"{self._OP}_dynamic_fp16", x, packed._packed_params)
        return called(f"{self._OP}_dynamic", x, packed._packed_params, True)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        text = (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"dtype={self._packed_params.dtype}"
        )
        weight = self.weight()
        return text + (
            f", qscheme={split(weight).scheme}" if is_quantized(weight) else ""
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Converts a float layer, by the weight observer of its qconfig."""
        weight, bias = folded(inner(mod))
        dtype = _weight_dtype(mod)
        if dtype is not pellucid.float16:
            weight = observed_weight(mod, weight)
        return cls._of_dtype(mod, weight, bias, dtype)

    @classmethod
    def from_reference(cls, ref_qmodule: Any) -> Any:  # type: ignore[override]
        """Converts a reference layer, possibly fused with the following one."""
        layer = inner(ref_qmodule)
        weight = layer.get_quantized_weight()
        return cls._of_dtype(ref_qmodule, weight, layer.bias, layer.weight_dtype)

    @classmethod
    def _of_dtype(cls, mod: Any, weight: Tensor, bias: Any, dtype: Any) -> Any:
        layer = inner(mod)
        made = cls(layer.in_features, layer.out_features, dtype=dtype)
        is_half = dtype is pellucid.float16
        made.set_weight_bias(weight.detach().float() if is_half else weight, bias)
        return made


def _weight_dtype(mod: Any) -> Any:
    qconfig = getattr(mod, "qconfig", None)
    if qconfig is None or qconfig.weight is None:
        raise AssertionError(
            "a dynamically quantized layer needs a qconfig: set layer.qconfig = "
            "torch.ao.quantization.default_dynamic_qconfig"
        )
    dtype = qconfig.weight().dtype
    if dtype not in (pellucid.qint8, pellucid.float16):
        raise AssertionError(
            f"a dynamically quantized layer's weight is torch.qint8 or torch.float16, "
            f"not {dtype}"
        )
    return dtype


class _Dynamic:
    """A convolution of floats."""

    def forward(self: Any, input: Tensor, reduce_range: bool = True) -> Any:
        """``input``: float32, ``[N, C, ...]``"""
        given = self._padded(input), self._packed_params, reduce_range
        return called(f"{self._OP}_dynamic", *given)

    def _get_name(self: Any) -> str:
        return f"DynamicQuantized{self._float_module.__name__}"


class Conv1d(_Dynamic, nnq.Conv1d):
    """``nn.Conv1d`` with an int8 weight."""


class Conv2d(_Dynamic, nnq.Conv2d):
    """``nn.Conv2d`` with an int8 weight."""


class Conv3d(_Dynamic, nnq.Conv3d):
    """``nn.Conv3d`` with an int8 weight."""


class ConvTranspose1d(_Dynamic, nnq.ConvTranspose1d):
    """``nn.ConvTranspose1d`` with an int8 weight."""


class ConvTranspose2d(_Dynamic, nnq.ConvTranspose2d):
    """``nn.ConvTranspose2d`` with an int8 weight."""


class ConvTranspose3d(_Dynamic, nnq.ConvTranspose3d):
    """``nn.ConvTranspose3d`` with an int8 weight."""

"""Layers of this package whose parts are quantized; ``ao.nn.quantized`` has them."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.ao.nn import quantizable
from pellucid.ao.quantization.quantize import convert


class _Composed:
    """Converts an observed layer of ``quantizable``, layer by layer."""

    @classmethod
    def from_float(cls, other: Any, *_: Any, **__: Any) -> Any:
        """Raises NotImplementedError: ``prepare`` observes float layers first."""
        raise NotImplementedError(
            f"{type(other).__name__} is not observed: prepare() makes it quantizable"
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Converts what ``prepare`` made of a float layer."""
        made = convert(other)
        made.__class__ = cls
        return made


class LSTM(_Composed, quantizable.LSTM):
    """``nn.LSTM`` of quantized tensors."""

    _FLOAT_MODULE: Any = quantizable.LSTM

    def _get_name(self) -> str:
        return "QuantizedLSTM"


class MultiheadAttention(_Composed, quantizable.MultiheadAttention):
    """``nn.MultiheadAttention`` with quantized projections."""

    _FLOAT_MODULE: Any = quantizable.MultiheadAttention

    def _get_name(self) -> str:
        return "QuantizedMultiheadAttention"

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Converts an observed layer; its added keys and values are quantized, too."""
        made = super().from_observed(other)
        for name in ("bias_k", "bias_v"):
            bias = getattr(made, name)
            made._parameters.pop(name, None)
            if bias is not None:
                scale, zero = pellucid._choose_qparams_per_tensor(
                    bias, reduce_range=False
                )
                bias = pellucid.quantize_per_tensor(bias, scale, zero, pellucid.quint8)
            setattr(made, name, bias)
        del made.in_proj_weight, made.in_proj_bias
        return made

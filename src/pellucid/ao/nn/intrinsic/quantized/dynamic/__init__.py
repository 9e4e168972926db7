"""``torch.ao.nn.intrinsic.quantized.dynamic``: floats in and out."""

from __future__ import annotations

from pellucid.ao.nn.quantized import dynamic as nnqd


class LinearReLU(nnqd.Linear):
    """``relu`` of a linear layer with an int8 weight."""

    _OP = "linear_relu"

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"


__all__ = ["LinearReLU"]

"""Methods of Tensor for quantized tensors: ``dequantize``, ``q_scale``, ..."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered
from pellucid.ao._quantized.parts import Parts, is_quantized, split


@offered.method
def dequantize(self: Tensor) -> Tensor:
    """The numbers that a quantized tensor represents, float32; ``float()`` for others.

    >>> torch.quantize_per_tensor(torch.ones(2), 0.5, 2, torch.quint8).dequantize()
    tensor([1., 1.])
    """
    return split(self).floats() if is_quantized(self) else self.float()


@offered.method
def int_repr(self: Tensor) -> Tensor:
    """The integers of a quantized tensor, copied."""
    return _parts(self, "int_repr").integers.clone()


@offered.method
def qscheme(self: Tensor) -> Any:
    """``torch.per_tensor_affine`` or ``torch.per_channel_affine``."""
    return _parts(self, "qscheme").scheme


@offered.method
def q_scale(self: Tensor) -> float:
    """The scale of a tensor with one scale."""
    return _of_one_scale(self, "q_scale").scale


@offered.method
def q_zero_point(self: Tensor) -> int:
    """The zero point of a tensor with one scale."""
    return _of_one_scale(self, "q_zero_point").zero_point


@offered.method
def q_per_channel_scales(self: Tensor) -> Tensor:
    """The scales of the channels, float64."""
    return _of_channels(self, "q_per_channel_scales").scales


@offered.method
def q_per_channel_zero_points(self: Tensor) -> Tensor:
    """The zero points of the channels, int64."""
    return _of_channels(self, "q_per_channel_zero_points").zero_points


@offered.method
def q_per_channel_axis(self: Tensor) -> int:
    """The dim of the channels."""
    axis = _of_channels(self, "q_per_channel_axis").axis
    assert axis is not None
    return axis


def _parts(tensor: Tensor, name: str) -> Parts:
    if is_quantized(tensor):
        return split(tensor)
    raise NotImplementedError(
        f"Could not run 'aten::{name}': it needs a quantized tensor; this one is "
        f"{tensor.layout}, {tensor.dtype}"
    )


def _of_one_scale(tensor: Tensor, name: str) -> Parts:
    parts = _parts(tensor, name)
    if parts.axis is not None:
        raise RuntimeError(
            f"Expected quantizer->qscheme() == kPerTensorAffine to be true: {name} "
            "needs a tensor of one scale; this one has a scale per channel"
        )
    return parts


def _of_channels(tensor: Tensor, name: str) -> Parts:
    parts = _parts(tensor, name)
    if parts.axis is None:
        raise RuntimeError(
            f"{name} needs a tensor with a scale per channel; this one has one scale "
            f"({pellucid.per_tensor_affine})"
        )
    return parts

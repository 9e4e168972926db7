"""From a float weight and its observer to a quantized weight."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import Sequential


def quantized_weight(weight: Tensor, observer: Any) -> Tensor:
    """``weight`` by the scales of an observer that has seen it."""
    scales, zero_points = observer.calculate_qparams()
    made: Tensor
    if observer.qscheme in (pellucid.per_tensor_symmetric, pellucid.per_tensor_affine):
        given = float(scales), int(zero_points)
        made = pellucid.quantize_per_tensor(weight.detach(), *given, observer.dtype)
        return made
    is_float = observer.qscheme is pellucid.per_channel_affine_float_qparams
    kinds = ("float32", "float32") if is_float else ("float64", "int64")
    scales, zero_points = (
        each.to(getattr(pellucid, kind))
        for each, kind in zip((scales, zero_points), kinds, strict=True)
    )
    made = pellucid.quantize_per_channel(
        weight.detach(), scales, zero_points, observer.ch_axis, observer.dtype
    )
    return made


def observed_weight(layer: Any, weight: Tensor) -> Tensor:
    """``weight`` by the fake quantizer of a layer, or by its qconfig's observer."""
    observer = getattr(layer, "weight_fake_quant", None)
    if observer is None:
        observer = layer.qconfig.weight()
    observer(weight)
    return quantized_weight(weight.float(), observer)


def inner(mod: Any) -> Any:
    """The layer with the parameters: a fused float module has it as its first."""
    if isinstance(mod, Sequential) and not hasattr(mod, "weight_fake_quant"):
        return mod[0]
    return mod


def result_scale(layer: Any) -> tuple[float, int]:
    """(scale, zero point) of a layer's results, by its observer."""
    observer = getattr(layer, "activation_post_process", None)
    if observer is None:
        return 1.0, 0
    scale, zero_point = observer.calculate_qparams()
    return float(scale), int(zero_point)

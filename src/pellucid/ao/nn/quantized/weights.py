"""Makes quantized layers, from observed float layers or reference layers.

``from_float`` reads the observers of a layer (the eager flow); ``from_reference`` takes
a layer with a quantized weight (``reference/``), and the output scale.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import Sequential


def quantized_weight(weight: Tensor, observer: Any) -> Tensor:
    """Quantizes ``weight`` by the scales of its observer."""
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
    """Quantizes ``weight`` by a layer's fake quantizer, or its qconfig's observer."""
    observer = getattr(layer, "weight_fake_quant", None)
    if observer is None:
        observer = layer.qconfig.weight()
    observer(weight)
    return quantized_weight(weight.float(), observer)


def inner(mod: Any) -> Any:
    """The layer with the parameters: the first one of a fused float module."""
    if isinstance(mod, Sequential) and not hasattr(mod, "weight_fake_quant"):
        return mod[0]
    return mod


def folded(layer: Any) -> tuple[Tensor, Tensor | None]:
    """The weight and bias of a layer, with its batch norm, if any, folded in."""
    fold = getattr(layer, "folded", None)
    if fold is None:
        return layer.weight, layer.bias
    found: tuple[Tensor, Tensor | None] = fold()
    return found


def result_scale(layer: Any) -> tuple[float, int]:
    """(scale, zero point) of a layer's results, by its observer."""
    observer = getattr(layer, "activation_post_process", None)
    if observer is None:
        return 1.0, 0
    scale, zero_point = observer.calculate_qparams()
    return float(scale), int(zero_point)


class WithScale:
    """A layer without a packed weight: defines only ``from_reference``."""

    @classmethod
    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Converts a float layer, by its observer."""
        return cls.from_reference(mod, *result_scale(mod))


class WithWeight:
    """A layer with a packed weight and a scale; ``_like`` creates it without them."""

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Converts a float layer, or one of ``nn.qat``, by its observers."""
        weight, bias = folded(inner(mod))
        made = cls._holding(mod, observed_weight(mod, weight), bias)
        made.scale, made.zero_point = result_scale(mod)
        return made

    @classmethod
    def from_reference(
        cls, ref_qmodule: Any, output_scale: float, output_zero_point: int
    ) -> Any:
        """Converts a reference layer, possibly fused with the following one."""
        layer = inner(ref_qmodule)
        made = cls._holding(ref_qmodule, layer.get_quantized_weight(), layer.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made

    @classmethod
    def _holding(cls: Any, mod: Any, weight: Tensor, bias: Tensor | None) -> Any:
        made = cls._like(mod)
        made.set_weight_bias(weight, bias)
        return made

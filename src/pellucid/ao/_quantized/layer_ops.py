"""``torch.ops.quantized``: activations and norms, with a given output scale."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import quantized, split
from pellucid.ao._quantized.registry import op


def _on_numbers(tensor: Tensor, scale: float, zero_point: int, function: Any) -> Tensor:
    parts = split(tensor)
    return quantized(function(parts.floats()), scale, zero_point, parts.dtype)


@op("sigmoid")
def sigmoid(qx: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
    """``sigmoid(qx)``"""
    return _on_numbers(qx, output_scale, output_zero_point, pellucid.sigmoid)


@op("hardswish")
def hardswish(input: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
    """``hardswish(input)``"""
    function = pellucid.ops.aten.hardswish
    return _on_numbers(input, output_scale, output_zero_point, function)


@op("elu")
def elu(
    self: Tensor,
    output_scale: float,
    output_zero_point: int,
    alpha: float = 1,
    scale: float = 1,
    input_scale: float = 1,
) -> Tensor:
    """``elu(self)``"""
    given = (alpha, scale, input_scale)
    return _on_numbers(
        *(self, output_scale, output_zero_point),
        lambda floats: pellucid.ops.aten.elu(floats, *given),
    )


@op("celu")
def celu(
    self: Tensor, output_scale: float, output_zero_point: int, alpha: float = 1
) -> Tensor:
    """``celu(self)``"""
    return elu(self, output_scale, output_zero_point, alpha, 1, 1 / alpha)


@op("leaky_relu")
def leaky_relu(
    qx: Tensor,
    negative_slope: float,
    inplace: bool,
    output_scale: float,
    output_zero_point: int,
) -> Tensor:
    """``leaky_relu(qx)``"""
    return _on_numbers(
        *(qx, output_scale, output_zero_point),
        lambda floats: pellucid.ops.aten.leaky_relu(floats, negative_slope),
    )


@op("prelu")
def prelu(
    qx: Tensor, weight: Tensor, output_scale: float, output_zero_point: int
) -> Tensor:
    """``prelu(qx, weight)`` with a quantized weight."""
    slopes = split(weight).floats()
    return _on_numbers(
        *(qx, output_scale, output_zero_point),
        lambda floats: pellucid.prelu(floats, slopes),
    )


@op("softmax")
def softmax(
    qx: Tensor, dim: int, output_scale: float, output_zero_point: int
) -> Tensor:
    """``softmax(qx, dim)``"""
    return _on_numbers(
        *(qx, output_scale, output_zero_point),
        lambda floats: pellucid.softmax(floats, dim),
    )


@op("relu6")
def relu6(qx: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(qx)`` with the scale of ``qx``."""
    made = pellucid.clamp(qx, 0, 6)
    if not inplace:
        return made
    qx.copy_(made)
    return qx


@op("clamp")
def clamp(qx: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """``clamp(qx, min, max)`` with the scale of ``qx``."""
    made: Tensor = pellucid.clamp(qx, min, max)
    return made


@op("threshold")
def threshold(qx: Tensor, threshold: float, value: float) -> Tensor:
    """``threshold(qx, threshold, value)`` with the scale of ``qx``."""
    made: Tensor = pellucid.threshold(qx, threshold, value)
    return made


@op("dropout")
def dropout(
    self: Tensor,
    output_scale: float,
    output_zero_point: int,
    p: float = 0.5,
    training: bool = False,
) -> Tensor:
    """Returns ``self``: quantized models are not trained."""
    return self


@op("layer_norm")
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    output_scale: float,
    output_zero_point: int,
) -> Tensor:
    """``layer_norm`` over the last dims."""
    return _on_numbers(
        *(input, output_scale, output_zero_point),
        lambda floats: pellucid.layer_norm(floats, normalized_shape, weight, bias, eps),
    )


@op("group_norm")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    output_scale: float,
    output_zero_point: int,
) -> Tensor:
    """``group_norm``"""
    return _on_numbers(
        *(input, output_scale, output_zero_point),
        lambda floats: pellucid.group_norm(floats, num_groups, weight, bias, eps),
    )


@op("instance_norm")
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    output_scale: float,
    output_zero_point: int,
) -> Tensor:
    """``instance_norm`` by each example's own moments."""
    return group_norm(
        *(input, input.shape[1], weight, bias, eps, output_scale, output_zero_point)
    )


def _batch_norm(relu: bool) -> Any:
    def call(
        qx: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        var: Tensor,
        eps: float,
        output_scale: float,
        output_zero_point: int,
    ) -> Tensor:
        """``batch_norm`` by running statistics."""

        def norm(floats: Tensor) -> Any:
            given = (weight, bias, mean, var, False, 0.0, eps, False)
            made: Tensor = pellucid.batch_norm(floats, *given)
            return made.relu() if relu else made

        return _on_numbers(qx, output_scale, output_zero_point, norm)

    return call


op("batch_norm", "batch_norm1d", "batch_norm2d", "batch_norm3d")(_batch_norm(False))
op(*("batch_norm_relu", "batch_norm1d_relu", "batch_norm2d_relu"))(_batch_norm(True))
op("batch_norm3d_relu")(_batch_norm(True))

"""Folds a batch norm in evaluation mode into the layer before it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from pellucid import Tensor
from pellucid.nn.modules.module import Module
from pellucid.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """(weight, bias) of the convolution equivalent to both layers."""
    scale = (bn_rv + bn_eps).rsqrt()
    scale = scale if bn_w is None else scale * bn_w
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    bias = -bn_rm if conv_b is None else conv_b - bn_rm
    bias = bias * scale if bn_b is None else bias * scale + bn_b
    weight = (conv_w * scale.reshape(shape)).detach()
    return (
        Parameter(weight, conv_w.requires_grad),
        Parameter(bias.detach(), conv_w.requires_grad),
    )


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """(weight, bias) of the linear layer equivalent to both layers."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(layer: Module, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("only modules in evaluation can be fused: call eval()")
    fused: Any = deepcopy(layer)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of ``conv`` equivalent to ``conv`` followed by ``bn``."""
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of ``linear`` equivalent to ``linear`` followed by ``bn``."""
    return _fused(linear, bn, False)

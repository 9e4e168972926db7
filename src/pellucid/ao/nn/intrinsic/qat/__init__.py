"""``torch.ao.nn.intrinsic.qat``: fused layers with fake-quantized weights.

A convolution with a batch norm rounds its weight times the norm's factor, which is the
quantized layer's weight; the norm's batch statistics are computed from the unrounded
product.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao.nn import intrinsic as nni
from pellucid.ao.nn import qat
from pellucid.nn import functional as F
from pellucid.nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights


class LinearReLU(qat.Linear, nni._FusedModule):
    """``relu`` of a linear layer with a rounded weight."""

    _WITH_RELU = _FLOAT_MODULE = nni.LinearReLU

    def forward(self, input: Tensor) -> Tensor:
        """``relu(input @ rounded.T + bias)``"""
        return F.relu(super().forward(input))


class _ConvReLU:
    def forward(self: Any, input: Tensor) -> Tensor:
        """``relu`` of the convolution with the rounded weight."""
        return F.relu(super().forward(input))  # type: ignore[misc]


class ConvReLU1d(_ConvReLU, qat.Conv1d, nni._FusedModule):
    """``relu`` of ``nn.Conv1d`` with a rounded weight."""

    _WITH_RELU = _FLOAT_MODULE = nni.ConvReLU1d


class ConvReLU2d(_ConvReLU, qat.Conv2d, nni._FusedModule):
    """``relu`` of ``nn.Conv2d`` with a rounded weight."""

    _WITH_RELU = _FLOAT_MODULE = nni.ConvReLU2d


class ConvReLU3d(_ConvReLU, qat.Conv3d, nni._FusedModule):
    """``relu`` of ``nn.Conv3d`` with a rounded weight."""

    _WITH_RELU = _FLOAT_MODULE = nni.ConvReLU3d


class _WithNorm:
    """A layer with its batch norm ``bn`` and optionally ``relu``."""

    bn: Any
    freeze_bn: bool

    def _start_norm(self: Any, norm: Any, qconfig: Any) -> None:
        self.bn, self.freeze_bn = norm, False
        del self.weight_fake_quant  # made by the layer; behind ``bn`` in state dicts
        self._start(qconfig)
        if self.training:
            self.update_bn_stats()

    def update_bn_stats(self: Any) -> Any:
        """Makes the norm use and record batch statistics."""
        self.freeze_bn = self.bn.training = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self: Any) -> Any:
        """Freezes the norm's running statistics."""
        self.freeze_bn, self.bn.training = True, False
        return self

    def train(self: Any, mode: bool = True) -> Any:
        """Keeps the norm in evaluation mode while its statistics are frozen."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    def reset_running_stats(self: Any) -> None:
        """Resets the norm's statistics."""
        self.bn.reset_running_stats()

    def forward(self: Any, input: Tensor) -> Tensor:
        """The norm of the product with the rounded weight."""
        deviation = pellucid.sqrt(self.bn.running_var + self.bn.eps)
        factor = self.bn.weight / deviation
        rows = [-1] + [1] * (self.weight.dim() - 1)
        weight = self.weight_fake_quant(self.weight * factor.reshape(rows))
        product = self._product(input, weight)
        channels = [1, -1] + [1] * (product.dim() - 2)
        product = product / factor.reshape(channels)
        if self.bias is not None:
            product = product + self.bias.reshape(channels)
        made: Tensor = self.bn(product)
        return made if self._WITH_RELU is None else F.relu(made)

    @classmethod
    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer with the parameters of a float one and its norm."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f"qat.{cls.__name__}.from_float only works for "
                f"{cls._FLOAT_MODULE.__name__}, not {type(mod).__name__}"
            )
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        made = cls._like(mod[0], mod.qconfig)
        made.weight, made.bias, made.bn = mod[0].weight, mod[0].bias, mod[1]
        return made


class _ConvBn(_WithNorm):
    _CONVOLUTION: Any = None
    _NORM: Any = None

    def __init__(
        self: Any,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: Any = None,
        padding_mode: str = "zeros",
        eps: float = 1e-5,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        self._CONVOLUTION.__init__(
            *(self, in_channels, out_channels, kernel_size, stride, padding),
            *(dilation, groups, bool(bias), padding_mode, qconfig),
        )
        self._start_norm(self._NORM(out_channels, eps, momentum), qconfig)
        if freeze_bn:
            self.freeze_bn_stats()

    def _product(self: Any, input: Tensor, weight: Tensor) -> Any:
        return self._conv_forward(input, weight, None)

    @classmethod
    def _like(cls: Any, layer: Any, qconfig: Any) -> Any:
        return cls(
            *qat.geometry(layer), padding_mode=layer.padding_mode, qconfig=qconfig
        )

    def folded(self: Any) -> Any:
        """(weight, bias) with the norm folded in."""
        norm = self.bn
        return fuse_conv_bn_weights(
            *(self.weight, self.bias, norm.running_mean, norm.running_var),
            *(norm.eps, norm.weight, norm.bias),
        )


def _with_norm(name: str, dims: int, relu: bool) -> Any:
    convolution = getattr(qat, f"Conv{dims}d")
    body = {
        "_CONVOLUTION": convolution,
        "_NORM": getattr(nn, f"BatchNorm{dims}d"),
        "_FLOAT_MODULE": getattr(nni, name),
        "_WITH_RELU": getattr(nni, f"ConvReLU{dims}d") if relu else None,
        "__doc__": f"nn.Conv{dims}d with its batch norm{' and relu' * relu}, rounded.",
        "__module__": __name__,
    }
    return type(name, (_ConvBn, convolution, nni._FusedModule), body)


ConvBn1d = _with_norm("ConvBn1d", 1, False)
ConvBn2d = _with_norm("ConvBn2d", 2, False)
ConvBn3d = _with_norm("ConvBn3d", 3, False)
ConvBnReLU1d = _with_norm("ConvBnReLU1d", 1, True)
ConvBnReLU2d = _with_norm("ConvBnReLU2d", 2, True)
ConvBnReLU3d = _with_norm("ConvBnReLU3d", 3, True)


class LinearBn1d(_WithNorm, qat.Linear, nni._FusedModule):
    """``nn.Linear`` with its batch norm, rounded."""

    _FLOAT_MODULE = nni.LinearBn1d

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        eps: float = 1e-5,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        qat.Linear.__init__(self, in_features, out_features, bias, qconfig)
        self._start_norm(nn.BatchNorm1d(out_features, eps, momentum), qconfig)
        if freeze_bn:
            self.freeze_bn_stats()

    def _product(self, input: Tensor, weight: Tensor) -> Tensor:
        return F.linear(input, weight)

    @classmethod
    def _like(cls, layer: Any, qconfig: Any) -> Any:
        bias = layer.bias is not None
        return cls(layer.in_features, layer.out_features, bias, qconfig=qconfig)

    def folded(self) -> Any:
        """(weight, bias) with the norm folded in."""
        norm = self.bn
        return fuse_linear_bn_weights(
            *(self.weight, self.bias, norm.running_mean, norm.running_var),
            *(norm.eps, norm.weight, norm.bias),
        )


def update_bn_stats(mod: Any) -> None:
    """For ``model.apply``: norms use and record batch statistics."""
    if isinstance(mod, _WithNorm):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """For ``model.apply``: freezes norms' running statistics."""
    if isinstance(mod, _WithNorm):
        mod.freeze_bn_stats()


__all__ = [
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearBn1d",
    "LinearReLU",
    "freeze_bn_stats",
    "update_bn_stats",
]

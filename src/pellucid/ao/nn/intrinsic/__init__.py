"""Fused layers: sequences of layers that quantize as one (``fuse_modules``)."""

from __future__ import annotations

from typing import Any

from pellucid import nn
from pellucid.nn import Sequential


class _FusedModule(Sequential):
    """Layers in order, of the types of ``LAYERS``."""

    LAYERS: tuple[Any, ...] = ()

    def __init__(self, *layers: Any) -> None:
        if len(layers) != len(self.LAYERS) or not all(
            isinstance(layer, kind)
            for layer, kind in zip(layers, self.LAYERS, strict=False)
        ):
            given = [type(layer).__name__ for layer in layers]
            wanted = [kind.__name__ for kind in self.LAYERS]
            raise AssertionError(
                f"Incorrect types for input modules {given}: {type(self).__name__} "
                f"is made of {wanted}"
            )
        super().__init__(*layers)


def _fused(name: str, *layers: Any) -> Any:
    text = ", ".join(layer.__name__ for layer in layers)
    body = {
        "LAYERS": layers,
        "__doc__": f"{text}, as one layer.",
        "__module__": __name__,
    }
    return type(name, (_FusedModule,), body)


ConvReLU1d = _fused("ConvReLU1d", nn.Conv1d, nn.ReLU)
ConvReLU2d = _fused("ConvReLU2d", nn.Conv2d, nn.ReLU)
ConvReLU3d = _fused("ConvReLU3d", nn.Conv3d, nn.ReLU)
LinearReLU = _fused("LinearReLU", nn.Linear, nn.ReLU)
ConvBn1d = _fused("ConvBn1d", nn.Conv1d, nn.BatchNorm1d)
ConvBn2d = _fused("ConvBn2d", nn.Conv2d, nn.BatchNorm2d)
ConvBn3d = _fused("ConvBn3d", nn.Conv3d, nn.BatchNorm3d)
ConvBnReLU1d = _fused("ConvBnReLU1d", nn.Conv1d, nn.BatchNorm1d, nn.ReLU)
ConvBnReLU2d = _fused("ConvBnReLU2d", nn.Conv2d, nn.BatchNorm2d, nn.ReLU)
ConvBnReLU3d = _fused("ConvBnReLU3d", nn.Conv3d, nn.BatchNorm3d, nn.ReLU)
BNReLU2d = _fused("BNReLU2d", nn.BatchNorm2d, nn.ReLU)
BNReLU3d = _fused("BNReLU3d", nn.BatchNorm3d, nn.ReLU)
LinearBn1d = _fused("LinearBn1d", nn.Linear, nn.BatchNorm1d)
LinearLeakyReLU = _fused("LinearLeakyReLU", nn.Linear, nn.LeakyReLU)
LinearTanh = _fused("LinearTanh", nn.Linear, nn.Tanh)

__all__ = [
    "BNReLU2d",
    "BNReLU3d",
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
    "LinearLeakyReLU",
    "LinearReLU",
    "LinearTanh",
]


def __getattr__(name: str) -> object:
    """Imports ``qat`` and ``quantized`` at first use."""
    if name in ("qat", "quantized"):
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

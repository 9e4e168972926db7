"""``torch.ao.nn.quantized``: layers with integer weights and quantized results."""

from __future__ import annotations

from pellucid.ao.nn.quantized.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from pellucid.ao.nn.quantized.embedding import Embedding, EmbeddingBag
from pellucid.ao.nn.quantized.functional_modules import (
    FloatFunctional,
    FXFloatFunctional,
    QFunctional,
)
from pellucid.ao.nn.quantized.layers import (
    ELU,
    DeQuantize,
    Dropout,
    Hardswish,
    LeakyReLU,
    PReLU,
    Quantize,
    ReLU6,
    Sigmoid,
    Softmax,
)
from pellucid.ao.nn.quantized.linear import Linear
from pellucid.ao.nn.quantized.norms import (
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
)

__all__ = [
    "ELU",
    "LSTM",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "DeQuantize",
    "Dropout",
    "Embedding",
    "EmbeddingBag",
    "FXFloatFunctional",
    "FloatFunctional",
    "GroupNorm",
    "Hardswish",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "MultiheadAttention",
    "PReLU",
    "QFunctional",
    "Quantize",
    "ReLU6",
    "Sigmoid",
    "Softmax",
]


def __getattr__(name: str) -> object:
    """Imports submodules, and what is made of these layers, at first use."""
    from importlib import import_module

    if name in ("dynamic", "functional", "reference"):
        return import_module(f"{__name__}.{name}")
    if name in ("LSTM", "MultiheadAttention"):
        return getattr(import_module("pellucid.ao.nn.quantizable.converted"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

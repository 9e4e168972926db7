"""``torch.ao.nn.quantized.reference``: float layers with rounded weights."""

from __future__ import annotations

from pellucid.ao.nn.quantized.reference.layers import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    EmbeddingBag,
    Linear,
)
from pellucid.ao.nn.quantized.reference.rnn import (
    GRU,
    LSTM,
    GRUCell,
    LSTMCell,
    RNNCell,
)

__all__ = [
    "GRU",
    "LSTM",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Embedding",
    "EmbeddingBag",
    "GRUCell",
    "LSTMCell",
    "Linear",
    "RNNCell",
]

"""``torch.ao.nn.quantizable``: recurrent layers and attention made of smaller layers,
which can be observed and quantized one by one.

The eager flow puts them in the place of ``nn.LSTM`` and ``nn.MultiheadAttention``.
"""

from __future__ import annotations

from pellucid.ao.nn.quantizable.attention import MultiheadAttention
from pellucid.ao.nn.quantizable.lstm import LSTM, LSTMCell

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]

"""``torch.ao.nn.sparse.quantized``: linear layers, int8 weights of sparse blocks."""

from __future__ import annotations

from pellucid.ao.nn.sparse.quantized import dynamic
from pellucid.ao.nn.sparse.quantized.linear import Linear, LinearPackedParams

__all__ = ["Linear", "LinearPackedParams", "dynamic"]

"""``torch.ao.nn.sparse.quantized.dynamic``: floats in and out."""

from __future__ import annotations

from pellucid.ao.nn.sparse.quantized.dynamic.linear import Linear

__all__ = ["Linear"]

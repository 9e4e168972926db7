"""``torch.ao.nn.sparse``: layers whose weights have few blocks that are not 0."""

from __future__ import annotations

from pellucid.ao.nn.sparse import quantized

__all__ = ["quantized"]

"""``torch.quantization.fx``: the steps of ``quantize_fx``, as functions."""

from __future__ import annotations

from pellucid.ao.quantization.fx.convert import convert
from pellucid.ao.quantization.fx.fuse import fuse
from pellucid.ao.quantization.fx.prepare import prepare

__all__ = ["convert", "fuse", "prepare"]

"""``torch.ao``: quantized tensors and models, masks on weights."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["nn", "ns", "pruning", "quantization"]


def __getattr__(name: str) -> ModuleType:
    """Imports a submodule at first use: ops only need ``_quantized``."""
    if name in __all__:
        return import_module(f"pellucid.ao.{name}")
    raise AttributeError(f"module 'pellucid.ao' has no attribute {name!r}")

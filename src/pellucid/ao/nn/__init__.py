"""``torch.ao.nn``: layers of quantized models."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["intrinsic", "qat", "quantizable", "quantized", "sparse"]


def __getattr__(name: str) -> ModuleType:
    """Imports a submodule at first use."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

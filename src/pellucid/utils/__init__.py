"""Utilities: hooks and data loading; the others are imported lazily."""

from importlib import import_module
from typing import Any

from pellucid.utils import data, hooks

__all__ = ["data", "hooks"]


def __getattr__(name: str) -> Any:
    if name in ("benchmark", "checkpoint", "dlpack"):
        return import_module(f"pellucid.utils.{name}")
    raise AttributeError(f"module 'pellucid.utils' has no attribute {name!r}")

"""Utilities: hooks and data loading."""

from pellucid.utils import data, hooks

__all__ = ["data", "hooks"]

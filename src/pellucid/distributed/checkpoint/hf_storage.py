"""Distributed checkpoints in safetensors files: not supported yet."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class _NotOffered:
    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__} is unsupported yet: pellucid.safetensors reads and "
            "writes whole tensors"
        )


class HuggingFaceStorageReader(_NotOffered):
    """Refuses."""


class HuggingFaceStorageWriter(_NotOffered):
    """Refuses."""

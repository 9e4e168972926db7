"""Tensors whose history is that of an inner tensor: DTensor, by its local part."""

from __future__ import annotations

from typing import Any

from pellucid._tensor import Tensor


def holds_part(tensor: Any) -> bool:
    """Whether the tensor has its history in its part."""
    return type(tensor) is not Tensor and hasattr(type(tensor), "_root_part")


def part_of(tensor: Any) -> Any:
    """The tensor that has the history."""
    return tensor._local_tensor if holds_part(tensor) else tensor

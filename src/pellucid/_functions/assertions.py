"""Assertions as functions, which traces can hold.

Imported lazily.
"""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid._package.calls import offered


@offered.function
def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError with the message unless the condition holds."""
    assert condition, message


@offered.function
def _assert_async(tensor: Tensor, assert_msg: str | None = None) -> None:
    """Raises RuntimeError with the message if the one element of ``tensor`` is 0."""
    if not bool(tensor):
        raise RuntimeError(
            assert_msg or "Expected Tensor with single nonzero value, but got zero"
        )

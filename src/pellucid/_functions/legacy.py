"""Functions of the package that few call: ``get_device``, ``kl_div``, ...

Imported lazily. ``_tensor/legacy_methods.py`` holds their like on Tensor.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor

spmm = dsmm = pellucid.mm


def get_device(input: Tensor) -> int:
    """The number of the tensor's device; -1 for the CPU."""
    return int(input.get_device())


def is_distributed(input: Tensor) -> bool:
    """Always False: no tensor is spread over processes."""
    return False


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError with the message unless the condition holds."""
    assert condition, message


def _assert_async(tensor: Tensor, assert_msg: str | None = None) -> None:
    """Raises RuntimeError with the message if the one element of ``tensor`` is 0."""
    if not bool(tensor):
        raise RuntimeError(
            assert_msg or "Expected Tensor with single nonzero value, but got zero"
        )


def _segment_reduce(data: Tensor, reduce: str, **options: Any) -> Tensor:
    """``torch.segment_reduce`` by the name that libraries call."""
    return pellucid.segment_reduce(data, reduce, **options)

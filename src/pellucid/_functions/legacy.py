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

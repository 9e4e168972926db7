"""Operators of a number and a tensor as the ops that PyTorch's call.

What runs elsewhere takes the number as a tensor. Called by the runtime
(``runtime/python/operators.cpp``) where a mode of capture sees calls.
"""

from __future__ import annotations

from typing import Any

from pellucid._ops import ops
from pellucid._tensor import Tensor


def divided(number: Any, tensor: Tensor) -> Tensor:
    """``number / tensor``."""
    result: Tensor = tensor.reciprocal() * number
    return result


def raised(number: Any, tensor: Tensor) -> Tensor:
    """``number ** tensor``."""
    result: Tensor = ops.aten.pow.Scalar(number, tensor)
    return result

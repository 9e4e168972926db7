"""``torch.sym_max`` and its like: arithmetic of sizes, which are plain numbers here.

PyTorch records it where a size is symbolic. Here sizes are ints wherever a program
sees them. Imported lazily.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pellucid import Tensor

_Number = int | float
T = TypeVar("T")


def sym_int(a: _Number) -> int:
    """The number without its fraction."""
    return math.trunc(a)


def sym_float(a: _Number) -> float:
    """The number as a float."""
    return float(a)


def sym_not(a: bool) -> bool:
    """``not a``"""
    return not a


def sym_max(a: _Number, b: _Number) -> _Number:
    """The greater one, of the type that their sum has."""
    return type(a + b)(max(a, b))


def sym_min(a: _Number, b: _Number) -> _Number:
    """The lesser one, of the type that their sum has."""
    return type(a + b)(min(a, b))


def sym_sqrt(a: _Number) -> float:
    """The square root."""
    return math.sqrt(a)


def sym_sum(args: Sequence[_Number]) -> _Number:
    """The sum of the numbers."""
    return sum(args)


def sym_ite(b: bool, t: T, f: T) -> T:
    """``t if b else f``"""
    return t if b else f


def cond(
    pred: bool | Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """What ``true_fn(*operands)`` gives if ``pred``, a bool or a tensor of one, holds;
    else what ``false_fn(*operands)`` gives. The other function is not called.
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(
            f"cond: pred is one truth value; a tensor of shape {tuple(pred.shape)} was "
            "given"
        )
    return (true_fn if pred else false_fn)(*operands)

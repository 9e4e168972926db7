"""``torch.sym_max`` and its like: arithmetic of numbers that may be symbolic.

A graph computes with these functions what a program reads from tensors. Imported
lazily.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from pellucid import SymBool, SymFloat, SymInt
from pellucid._package.calls import offered
from pellucid.utils._symbolic.numbers import condition, is_read, recorded

_Number = int | float
T = TypeVar("T")


@offered.function
def sym_int(a: Any) -> Any:
    """The number without its fraction."""
    if isinstance(a, SymFloat):
        a.refuse_plain()
    return a if isinstance(a, SymInt) else math.trunc(a)


@offered.function
def sym_float(a: Any) -> Any:
    """The number as a float."""
    if isinstance(a, SymFloat):
        return a
    return recorded(sym_float, a) if is_read(a) else float(a)


@offered.function
def sym_not(a: Any) -> Any:
    """``not a``."""
    return ~a if isinstance(a, SymBool) else not a


@offered.function
def sym_max(a: _Number, b: _Number) -> _Number:
    """The greater one, of the type that their sum has."""
    return _chosen(sym_max, ">=", a, b)


@offered.function
def sym_min(a: _Number, b: _Number) -> _Number:
    """The lesser one, of the type that their sum has."""
    return _chosen(sym_min, "<=", a, b)


@offered.function
def sym_sqrt(a: _Number) -> float:
    """The square root."""
    return recorded(sym_sqrt, a) if is_read(a) else math.sqrt(a)


@offered.function
def sym_sum(args: Sequence[_Number]) -> _Number:
    """The sum of the numbers."""
    return sum(args)


@offered.function
def sym_ite(b: bool, t: T, f: T) -> T:
    """``t if b else f``."""
    return t if b else f


def _chosen(function: Any, sign: str, a: _Number, b: _Number) -> _Number:
    """The one for which ``sign`` holds: for integers that are read the ranges decide,
    with floats the graph.
    """
    is_real = isinstance(a, float) or isinstance(b, float)
    if is_real and (is_read(a) or is_read(b)):
        return recorded(function, a, b)
    chosen = a if condition(a, sign, b) else b
    return float(chosen) if is_real else chosen

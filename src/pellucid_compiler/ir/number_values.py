"""The values of scalar ops on Python sizes and numbers, without NumPy.

Total, like the ops: a quotient by zero is infinite, an undefined value is NaN. Used by
the rows of scalar_ops.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def divide(a: Any, b: Any) -> Any:
    """The quotient of numbers."""
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


def floor_divide(a: Any, b: Any) -> Any:
    """The quotient rounded down; 0 for a zero divisor."""
    return a // b if b else 0


def remainder(a: Any, b: Any) -> Any:
    """The remainder with the divisor's sign; 0 for a zero divisor."""
    return a % b if b else 0


def both(a: Any, b: Any) -> Any:
    """``and`` of truth values."""
    return a and b


def either(a: Any, b: Any) -> Any:
    """``or`` of truth values."""
    return a or b


def rounded(function: Callable[[float], int]) -> Callable[[Any], Any]:
    """A rounding to a float; infinities and NaN are unchanged."""
    return lambda x: float(function(x)) if math.isfinite(x) else x


def or_nan(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """NaN where ``function`` raises."""

    def value(x: Any) -> Any:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.nan

    return value

"""Reference values of the elementary functions that NumPy lacks, in float64.

The interpreter's definition of ``erfinv``, ``digamma`` and ``trigamma``; the compiler's
own versions are tested against mpmath, not against these. Called only by scalar_ops.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def elementwise(function: Callable[[float], float]) -> Callable[..., Any]:
    """The scalar-op evaluation that applies a Python function to every element."""

    def guarded(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    def evaluate(np: Any, x: Any) -> Any:
        applied = np.frompyfunc(lambda value: guarded(float(value)), 1, 1)(x)
        return np.asarray(applied, dtype=x.dtype)

    return evaluate


def lgamma(x: float) -> float:
    """``log |gamma(x)|``; a pole of gamma gives infinity."""
    if x == math.floor(x) and x <= 0:
        return math.inf
    return math.lgamma(x)


def erfinv(y: float) -> float:
    """The x with ``erf(x) = y``, by Newton steps on erf and erfc."""
    if not abs(y) < 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    if y == 0:
        return y
    log_tail = math.log1p(-y * y)
    inner = 2 / (math.pi * 0.147) + log_tail / 2
    x = math.copysign(math.sqrt(math.sqrt(inner * inner - log_tail / 0.147) - inner), y)
    tail = 1 - abs(y)
    for _ in range(4):
        slope = 2 / math.sqrt(math.pi) * math.exp(-x * x)
        if abs(y) < 0.5:
            x -= (math.erf(x) - y) / slope
        else:
            error = math.copysign(1.0, y) * (tail - math.erfc(abs(x)))
            x -= error / slope
    return x


def digamma(x: float) -> float:
    """The logarithmic derivative of gamma: reflection, recurrence, asymptotic
    series.
    """
    if x == 0:
        return -math.copysign(math.inf, x)
    if x == math.floor(x) and x < 0:
        return math.nan
    if x < 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    if math.isinf(x):
        return x
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return shift + math.log(x) - 0.5 / x - series


def trigamma(x: float) -> float:
    """The derivative of digamma, by the same three steps."""
    if x == math.floor(x) and x <= 0:
        return math.inf
    if x < 0.5:
        sine = math.sin(math.pi * (x - round(x)))
        return (math.pi / sine) ** 2 - trigamma(1 - x)
    shift = 0.0
    while x < 12:
        shift += 1 / (x * x)
        x += 1
    z = 1 / (x * x)
    tail = 1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * 5 / 66)))
    return shift + 1 / x + z / 2 + z / x * tail

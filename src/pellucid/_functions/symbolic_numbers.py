"""``torch.sym_max`` and its like: arithmetic of sizes, which are plain numbers here.

PyTorch records it where a size is symbolic. Here sizes are ints wherever a program
sees them. Imported lazily.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from pellucid import SymBool
from pellucid._package.calls import offered

_Number = int | float
T = TypeVar("T")


@offered.function
def sym_int(a: _Number) -> int:
    """The number without its fraction."""
    return math.trunc(a)


@offered.function
def sym_float(a: _Number) -> float:
    """The number as a float."""
    return float(a)


@offered.function
def sym_not(a: Any) -> Any:
    """``not a``."""
    return ~a if isinstance(a, SymBool) else not a


@offered.function
def sym_max(a: _Number, b: _Number) -> _Number:
    """The greater one, of the type that their sum has."""
    return type(a + b)(max(a, b))


@offered.function
def sym_min(a: _Number, b: _Number) -> _Number:
    """The lesser one, of the type that their sum has."""
    return type(a + b)(min(a, b))


@offered.function
def sym_sqrt(a: _Number) -> float:
    """The square root."""
    return math.sqrt(a)


@offered.function
def sym_sum(args: Sequence[_Number]) -> _Number:
    """The sum of the numbers."""
    return sum(args)


@offered.function
def sym_ite(b: bool, t: T, f: T) -> T:
    """``t if b else f``."""
    return t if b else f

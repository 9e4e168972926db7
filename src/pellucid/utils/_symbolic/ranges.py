"""``ValueRanges``: the values that a size may have, as exported programs state them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pellucid.utils._symbolic.environment import INFINITY


@dataclass(frozen=True)
class ValueRanges:
    """The integers from ``lower`` to ``upper``, both included."""

    lower: int
    upper: int

    def __contains__(self, value: Any) -> bool:
        return bool(self.lower <= value <= self.upper)

    def is_singleton(self) -> bool:
        """Whether it has one value."""
        return self.lower == self.upper

    def __repr__(self) -> str:
        start = "-int_oo" if self.lower <= -INFINITY else self.lower
        end = "int_oo" if self.upper >= INFINITY else self.upper
        return f"VR[{start}, {end}]"

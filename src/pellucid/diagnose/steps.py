"""The steps of a training loop: how long they take, and why one was slow.

A step ends where an optimizer's step ends. The first is reported apart: it traces,
compiles and touches memory for the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.log import Kind, Log
from pellucid.profiler._timeline.storages import OPTIMIZER

_SLOW = 1.5  # times the median


@dataclass
class Step:
    """Seconds, in all and by category."""

    number: int
    seconds: float
    shares: dict[str, float]

    def why(self, usual: dict[str, float]) -> str:
        """What it spent more than a usual step, the largest first."""
        more = {name: s - usual.get(name, 0.0) for name, s in self.shares.items()}
        parts = sorted(more.items(), key=lambda item: -item[1])
        return ", ".join(f"{n} +{s * 1e3:.1f} ms" for n, s in parts[:3] if s > 1e-4)


def steps_of(
    log: Log, moments: Array, categories: Array, seconds: Array, names: Sequence[str]
) -> list[Step]:
    """The steps of a log, none where fewer than two optimizer steps ran.

    The arrays have an entry for each piece of the main thread's time; ``categories``
    are places in ``names``.
    """
    columns = log.columns
    ends = np.sort(columns.end[columns.is_named(Kind.RANGE, OPTIMIZER)])
    if len(ends) < 2:
        return []
    place = np.searchsorted(ends, moments)
    parts: list[dict[str, float]] = [{} for _ in ends]
    for number, category in enumerate(names):
        is_own = (categories == number) & (place < len(ends))
        sums = np.bincount(place[is_own], seconds[is_own], len(ends))
        for step in np.flatnonzero(sums).tolist():
            parts[step][category] = float(sums[step])
    begins = [log.begin, *ends.tolist()]
    return [
        Step(number, (end - begin) / 1e9, shares)
        for number, (begin, end, shares) in enumerate(
            zip(begins, ends.tolist(), parts, strict=False)
        )
    ]


def shown_steps(steps: Sequence[Step]) -> list[str]:
    """At most two lines: the median, the first, the slowest of the others."""
    if len(steps) < 3:
        return []
    later = steps[1:]
    middle = median(step.seconds for step in later)
    names = {name for step in later for name in step.shares}
    usual = {n: median(s.shares.get(n, 0.0) for s in later) for n in names}
    first = steps[0]
    lines = [
        f"steps: {len(steps)}, {middle * 1e3:.2f} ms each; the first "
        f"{first.seconds * 1e3:.1f} ms ({first.why(usual)})"
    ]
    slowest = max(later, key=lambda step: step.seconds)
    if slowest.seconds > _SLOW * middle:
        reason = slowest.why(usual) or "no call of it: away"
        lines.append(
            f"       number {slowest.number} {slowest.seconds * 1e3:.1f} ms ({reason})"
        )
    return lines


def as_json(steps: Sequence[Any]) -> list[dict[str, Any]]:
    """As reports write them."""
    return [{"seconds": step.seconds, "shares": step.shares} for step in steps]

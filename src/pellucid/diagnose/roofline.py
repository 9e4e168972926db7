"""``pellucid.roofline(fn, *args)``: how close each computation is to the machine's
roofs, and which roof bounds it.

    >>> print(pellucid.roofline(model, x))

Operations and bytes are those of the plans that ran (``profiler/_timeline/costs.py``),
times are measured, roofs are `machine`'s. A computation's bound is the greater of the
time that its operations take at the best rate, and the time that its distinct bytes
take at the rate of the cache level that holds them (S. Williams, A. Waterman and D.
Patterson, "Roofline", 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid._package.calls import offered
from pellucid.diagnose.machine import Machine, machine, raise_roof
from pellucid.diagnose.recording import Computation, computations, record_runs
from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import Watch

__all__ = ["Roofline", "Row", "roofline"]


@dataclass
class Row:
    """All computations of one op at one line. Seconds, operations and bytes are sums;
    ``bound`` is the time at the roof, ``limit`` which roof that is: "compute", a level
    of bandwidth, "calls" where calling costs more than either, or "unknown".
    """

    op: str
    line: str
    calls: int = 0
    seconds: float = 0.0
    operations: int = 0
    as_written: int = 0
    nbytes: int = 0
    bound: float = 0.0
    limit: str = "unknown"
    routes: tuple[str, ...] = ()

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.nbytes if self.nbytes else 0.0

    @property
    def share_of_roof(self) -> float:
        """The time at the roof over the time it took."""
        return min(self.bound / self.seconds, 1.0) if self.seconds else 0.0


class Roofline:
    """The rows of a run, the longest first. ``str`` is a table, ``save`` a page."""

    def __init__(self, rows: list[Row], found: Machine) -> None:
        self.rows = sorted(rows, key=lambda row: -row.seconds)
        self.machine = found

    @property
    def seconds(self) -> float:
        """Of all computations."""
        return sum(row.seconds for row in self.rows)

    @property
    def share_of_roof(self) -> float:
        """The time at the roofs over the time of all computations."""
        bound = sum(min(row.bound, row.seconds) for row in self.rows)
        return bound / self.seconds if self.seconds else 0.0

    def table(self, limit: int = 20) -> str:
        """The longest rows as text."""
        head = ("op", "line", "calls", "us", "GFLOP/s", "GB/s", "op/B", "roof", "by")
        cells = [head, *(_cells(row) for row in self.rows[:limit])]
        widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
        lines = []
        for row in cells:
            left = [row[k].ljust(widths[k]) for k in (0, 1)]
            right = [row[k].rjust(widths[k]) for k in range(2, 8)]
            lines.append("  ".join([*left, *right, row[8]]).rstrip())
        if len(self.rows) > limit:
            lines.append(f"and {len(self.rows) - limit} more")
        total = f"{self.seconds * 1e3:.3f} ms, {self.share_of_roof:.0%} of it at roofs"
        return "\n".join([*lines, total, str(self.machine)])

    __str__ = __repr__ = table

    def data(self) -> dict[str, Any]:
        """What the page draws, as JSON types."""
        return {
            "products": self.machine.products["float32"],
            "bandwidth": self.machine.bandwidth,
            "rows": [
                {
                    "name": f"{row.op} {row.line}",
                    "intensity": row.intensity,
                    "rate": row.operations / row.seconds if row.seconds else 0,
                    "seconds": row.seconds,
                    "limit": row.limit,
                    "share": row.share_of_roof,
                }
                for row in self.rows
            ],
        }

    def save(self, path: str | Path) -> Path:
        """Writes one HTML file that needs no network; returns its path."""
        from pellucid.diagnose.page import Page

        return Page(roofline=self).save(path)


@offered.value
def roofline(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Roofline:
    """Runs ``fn(*args, **kwargs)`` several times; the roofs of what it computed.

    Example: ``print(pellucid.roofline(torch.mm, a, b))``.
    """
    watch = Watch.FACTS | Watch.STEPS | Watch.LINES
    logs = record_runs(fn, args, kwargs, watch)
    return roofline_of(computations(logs, CostCounter()), machine())


def roofline_of(found: list[Computation], roof: Machine) -> Roofline:
    """The roofs of computations that were recorded."""
    for item in found:
        least = float(item.seconds.min())
        if item.run is not None and least:
            rate = item.run.products / least
            roof = raise_roof(roof, "products", item.dtype, rate)
            nbytes = item.run.bytes_read + item.run.bytes_written
            level = roof.level(nbytes)
            roof = raise_roof(roof, "bandwidth", level, nbytes / least)
    rows: dict[tuple[str, str], Row] = {}
    longest: dict[tuple[str, str], float] = {}
    for item in found:
        key = item.name, str(item.line or "")
        row = rows.setdefault(key, Row(*key))
        row.calls += item.calls
        row.seconds += item.total
        row.routes = tuple(dict.fromkeys((*row.routes, *item.routes)))
        if item.run is None:
            continue
        bound, limit = bound_of(item, roof)
        nbytes = item.run.bytes_read + item.run.bytes_written
        row.operations += item.run.flops * item.calls
        row.as_written += (item.written or item.run).flops * item.calls
        row.nbytes += nbytes * item.calls
        row.bound += float(np.minimum(bound, item.seconds).sum())
        if bound > longest.get(key, -1.0):
            longest[key], row.limit = bound, limit
    return Roofline(list(rows.values()), roof)


def bound_of(item: Computation, roof: Machine) -> tuple[float, str]:
    """The least seconds that a computation could take, and what bounds it."""
    assert item.run is not None
    nbytes = item.run.bytes_read + item.run.bytes_written
    compute = roof.compute_time(item.run.operations, item.dtype)
    move = roof.move_time(nbytes)
    if max(compute, move) < roof.call:
        return max(compute, move), "calls"
    return (compute, "compute") if compute > move else (move, roof.level(nbytes))


def _cells(row: Row) -> tuple[str, ...]:
    def rate(amount: int) -> str:
        return f"{amount / row.seconds / 1e9:.1f}" if row.seconds and amount else "-"

    return (
        row.op,
        row.line,
        str(row.calls),
        f"{row.seconds * 1e6:.1f}",
        rate(row.operations),
        rate(row.nbytes),
        f"{row.intensity:.1f}" if row.nbytes else "-",
        f"{row.share_of_roof:.0%}" if row.limit != "unknown" else "-",
        row.limit + (f" ({', '.join(row.routes)})" if any(row.routes) else ""),
    )

"""Formats times with units, and in tables. Called by ``benchmark.py``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

_UNITS = (("s", "seconds", 1.0), ("ms", "milliseconds", 1e-3))
_SHORT = (("us", "microseconds", 1e-6), ("ns", "nanoseconds", 1e-9))

# The scope in which the best time is highlighted; None: no colors.
Colors = Literal["rows", "columns"] | None
_GREEN, _RED, _PLAIN = "\033[32m", "\033[31m", "\033[0m"


def _unit(seconds: float) -> tuple[str, str, float]:
    for unit in (*_UNITS, *_SHORT):
        if seconds >= unit[2]:
            return unit
    return _SHORT[-1]


def in_unit(seconds: float) -> str:
    """The time with its unit: "2.31 us"."""
    short, _, scale = _unit(seconds)
    return f"{seconds / scale:.2f} {short}"


def table(
    label: str, results: Sequence[Any], rounded: bool, colored: Colors = None
) -> str:
    """The medians of Measurements of one label: rows by number of threads, environment
    and name.
    """
    specs = [r.task_spec for r in results]
    columns = list(dict.fromkeys(spec.description or "" for spec in specs))
    has_environments = len({spec.env for spec in specs}) > 1
    groups: dict[int, dict[str, dict[str, float]]] = {}
    for spec, result in zip(specs, results, strict=True):
        place = f"({spec.env}) " if has_environments and spec.env else ""
        rows = groups.setdefault(spec.num_threads, {})
        row = rows.setdefault(place + spec.as_row_name, {})
        row[spec.description or ""] = result.median
    _, unit, scale = _unit(min(r.median for r in results))
    first = max(len(name) + 6 for rows in groups.values() for name in rows)
    widths = [max(len(column), 8) for column in columns]
    head = _line(" " * first, map(str.rjust, columns, widths))
    lines = [f"[{f' {label} ':-^{len(head) - 2}}]", head]
    for threads in sorted(groups):
        rows = groups[threads]
        lines.append(f"{threads} threads: ".ljust(len(head), "-"))
        for name, row in rows.items():
            cells = []
            for column, width in zip(columns, widths, strict=True):
                cell = _time(row.get(column), scale, rounded).rjust(width)
                if colored and column in row:
                    rivals = row.values() if colored == "rows" else _of(rows, column)
                    cell = _in_color(cell, row[column], min(rivals))
                cells.append(cell)
            lines.append(_line(f"      {name}".ljust(first), cells))
    return "\n".join([*lines, "", f"Times are in {unit} ({_unit(scale)[0]})."])


def _of(rows: dict[str, dict[str, float]], column: str) -> list[float]:
    return [row[column] for row in rows.values() if column in row]


def _time(seconds: float | None, scale: float, rounded: bool) -> str:
    if seconds is None:
        return ""
    time = seconds / scale
    return f"{float(f'{time:.2g}'):g}" if rounded else f"{time:.1f}"


def _in_color(cell: str, seconds: float, best: float) -> str:
    if seconds <= best * 1.01:
        return f"{_GREEN}{cell}{_PLAIN}"
    return f"{_RED}{cell}{_PLAIN}" if seconds >= best * 2 else cell


def _line(name: str, cells: Iterable[str]) -> str:
    return "  |  ".join([name, *cells])

"""Times as text: with their unit, and in tables. ``benchmark.py`` calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_UNITS = (("s", "seconds", 1.0), ("ms", "milliseconds", 1e-3))
_SHORT = (("us", "microseconds", 1e-6), ("ns", "nanoseconds", 1e-9))


def _unit(seconds: float) -> tuple[str, str, float]:
    for unit in (*_UNITS, *_SHORT):
        if seconds >= unit[2]:
            return unit
    return _SHORT[-1]


def in_unit(seconds: float) -> str:
    """The time with its unit: "2.31 us"."""
    short, _, scale = _unit(seconds)
    return f"{seconds / scale:.2f} {short}"


def table(label: str, results: Sequence[Any], rounded: bool) -> str:
    """The medians of Measurements of one label."""
    columns = list(dict.fromkeys(r.task_spec.description or "" for r in results))
    _, unit, scale = _unit(min(r.median for r in results))
    cells: dict[int, dict[str, dict[str, str]]] = {}
    for result in results:
        spec = result.task_spec
        rows = cells.setdefault(spec.num_threads, {})
        time = result.median / scale
        text = f"{float(f'{time:.2g}'):g}" if rounded else f"{time:.1f}"
        rows.setdefault(spec.as_row_name, {})[spec.description or ""] = text
    first = max(len(name) + 6 for rows in cells.values() for name in rows)
    widths = [max(len(column), 8) for column in columns]
    head = _line(" " * first, columns, widths)
    lines = [f"[{f' {label} ':-^{len(head) - 2}}]", head]
    for threads in sorted(cells):
        lines.append(f"{threads} threads: ".ljust(len(head), "-"))
        for name, row in cells[threads].items():
            values = [row.get(column, "") for column in columns]
            lines.append(_line(f"      {name}".ljust(first), values, widths))
    return "\n".join([*lines, "", f"Times are in {unit} ({_unit(scale)[0]})."])


def _line(name: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return "  |  ".join([name, *padded])

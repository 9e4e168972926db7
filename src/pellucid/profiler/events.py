"""What a profiler has recorded: events, their averages by name, tables and traces.

Times are in microseconds, as PyTorch's.
"""

from __future__ import annotations

import gzip
import json
import os
from typing import IO, Any


class FunctionEvent:
    """One call of an op, or one range. ``start`` and ``end`` in nanoseconds."""

    count = 1

    def __init__(
        self,
        name: str,
        input_shapes: list[list[int]],
        cpu_parent: FunctionEvent | None,
        is_user_annotation: bool,
        thread: int,
    ) -> None:
        self.name = self.key = name
        self.input_shapes = input_shapes
        self.cpu_parent = cpu_parent
        self.cpu_children: list[FunctionEvent] = []
        self.is_user_annotation = is_user_annotation
        self.thread = thread
        self.start = self.end = 0
        if cpu_parent is not None:
            cpu_parent.cpu_children.append(self)

    @property
    def cpu_time_total(self) -> float:
        """From its beginning to its end."""
        return (self.end - self.start) / 1000

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """Its time without that of what ran inside it."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name}: {_readable(self.cpu_time_total)}>"


class FunctionEventAvg:
    """The calls of one name (and of one list of shapes, if they are distinguished)."""

    def __init__(self, key: str, input_shapes: list[list[int]]) -> None:
        self.key = key
        self.input_shapes = input_shapes
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0

    def add(self, event: FunctionEvent | FunctionEventAvg) -> None:
        """Count a call, or several."""
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total

    @property
    def cpu_time(self) -> float:
        """The mean of a call."""
        return self.cpu_time_total / max(self.count, 1)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg {self.key}: {self.count} calls, "
            f"{_readable(self.self_cpu_time_total)} of their own>"
        )


_SORTS = {
    "cpu_time": "cpu_time",
    "cpu_time_total": "cpu_time_total",
    "self_cpu_time_total": "self_cpu_time_total",
    "count": "count",
}


class EventList(list[Any]):
    """Events, or averages of events."""

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """One entry for each name, the first one met first."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            key = event.key, str(shapes)
            found.setdefault(key, FunctionEventAvg(event.key, shapes)).add(event)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All entries as one."""
        total = FunctionEventAvg("Total", [])
        for event in self:
            total.add(event)
        return total

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all entries."""
        total: float = sum(event.self_cpu_time_total for event in self)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """A table of at most ``row_limit`` entries (-1: all), the greatest first if
        ``sort_by`` names a column: "cpu_time_total", "self_cpu_time_total",
        "cpu_time", "count". Raises AttributeError for another name.
        """
        entries = list(self)
        if sort_by is not None:
            column = _SORTS.get(sort_by)
            if column is None:
                raise AttributeError(
                    f"there is no column {sort_by!r} to sort by: {', '.join(_SORTS)}"
                )
            entries.sort(key=lambda event: getattr(event, column), reverse=True)
        whole = self.self_cpu_time_total
        rows = [
            _row(event, whole, max_name_column_width)
            for event in (entries if row_limit < 0 else entries[:row_limit])
        ]
        if any(event.input_shapes for event in entries):
            heads = [*_HEADS, "Input shapes"]
        else:
            heads = _HEADS
            rows = [row[: len(_HEADS)] for row in rows]
        text = _aligned(heads, rows) + f"Self CPU time total: {_readable(whole)}\n"
        return text if header is None else f"{header}\n{text}"

    def export_chrome_trace(self, path: str) -> None:
        """Write the events in the trace event format; compressed for ``.gz``."""
        trace = {
            "traceEvents": [
                {
                    "ph": "X",
                    "name": event.name,
                    "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                    "pid": os.getpid(),
                    "tid": event.thread,
                    "ts": event.start / 1000,
                    "dur": event.cpu_time_total,
                    "args": {"Input Dims": event.input_shapes},
                }
                for event in self
            ]
        }
        file: IO[str]
        is_packed = path.endswith(".gz")
        with gzip.open(path, "wt") if is_packed else open(path, "w") as file:
            json.dump(trace, file)

    def __str__(self) -> str:
        return self.table()


_HEADS = [
    *("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"),
    "# of Calls",
]


def _row(event: Any, whole: float, width: int) -> list[str]:
    share = 100 / whole if whole else 0.0
    name = event.key
    return [
        name if len(name) <= width else name[: width - 3] + "...",
        f"{event.self_cpu_time_total * share:.2f}%",
        _readable(event.self_cpu_time_total),
        f"{event.cpu_time_total * share:.2f}%",
        _readable(event.cpu_time_total),
        _readable(event.cpu_time),
        str(event.count),
        str(event.input_shapes),
    ]


def _aligned(heads: list[str], rows: list[list[str]]) -> str:
    columns = zip(heads, *rows, strict=True)
    widths = [max(len(cell) for cell in column) for column in columns]
    rule = "  ".join("-" * width for width in widths)
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (heads, *rows)
    ]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule, ""])


def _readable(microseconds: float) -> str:
    """With the unit that leaves a number below 1000."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"

"""``torch.autograd.profiler_util``: the classes of a profiler's events."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pellucid.profiler._actions import DeviceType
from pellucid.profiler._event_list import EventList
from pellucid.profiler._function_events import (
    MEMORY_EVENT_NAME,
    OUT_OF_MEMORY_EVENT_NAME,
    FormattedTimesMixin,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
)

__all__ = [
    "MEMORY_EVENT_NAME",
    "OUT_OF_MEMORY_EVENT_NAME",
    "DeviceType",
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]


class Kernel(NamedTuple):
    """A kernel on an accelerator."""

    name: str
    device: int
    duration: float


class StringTable(dict[str, str]):
    """Names as they are displayed: unchanged."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class MemRecordsAcc:
    """Finds the records of an interval; records have ``start_ns()``."""

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._starts = [record[0].start_ns() for record in self._records]

    def in_interval(self, start_us: float, end_us: float) -> Iterator[Any]:
        """The records between two times in microseconds."""
        first = bisect.bisect_left(self._starts, start_us * 1000)
        last = bisect.bisect_right(self._starts, end_us * 1000)
        yield from self._records[first:last]

"""The storages that a log saw: who made them, how long they lived, what for.

Used by memory timelines and by reports of peaks. A storage's role follows from when it
was made and how long it was needed: a temporary ends in the phase that made it, what
outlives a forward pass until the backward pass is saved, what a backward pass leaves is
a gradient, what an optimizer's step leaves is its state.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from pellucid.profiler._timeline.log import Event, Kind, Line, Log

ROLES = (
    *("parameter", "gradient", "optimizer", "batch", "saved", "temporary", "other"),
)
_FOREVER = float("inf")


class Lifetime(NamedTuple):
    """A storage from ``begin`` to ``end``, which is infinite if it outlived the log.

    ``event`` made it; None for one that was there before the session.
    """

    address: int
    nbytes: int
    begin: float
    end: float
    event: Event | None

    def is_live(self, moment: float) -> bool:
        """Whether it holds memory at this time."""
        return self.begin <= moment < self.end


def lifetimes(log: Log) -> list[Lifetime]:
    """Every storage that was made or freed, in the order in which they were made."""
    open_ones: dict[int, Event] = {}
    found = []
    for event in log.events:
        if event.kind is Kind.MAKE:
            open_ones[event.address] = event
        elif event.kind is Kind.FREE:
            made = open_ones.pop(event.address, None)
            begin = made.begin if made else log.begin
            found.append(
                Lifetime(event.address, -event.bytes, begin, event.begin, made)
            )
    for address, event in open_ones.items():
        found.append(Lifetime(address, event.bytes, event.begin, _FOREVER, event))
    return sorted(found, key=lambda lifetime: lifetime.begin)


def ancestors(event: Event | None) -> Iterator[Event]:
    """The events around this one, the innermost first."""
    while event is not None and event.parent is not None:
        event = event.parent
        yield event


class Roles:
    """What the storages of a log were for."""

    def __init__(self, log: Log) -> None:
        passes: dict[tuple[int, int], tuple[float, float]] = {}
        for event in log.events:
            if event.kind is Kind.NODE:
                key = event.thread.system_id, event.detail
                begin, end = passes.get(key, (event.begin, event.end))
                passes[key] = begin, max(end, event.end)
        self._passes = sorted(passes.values())
        self._begins = [begin for begin, _ in self._passes]

    def of(self, lifetime: Lifetime) -> str:
        """One of `ROLES`."""
        if lifetime.event is None:
            return "other"
        for outer in ancestors(lifetime.event):
            if outer.kind is Kind.RANGE and outer.name.startswith("Optimizer.step"):
                return "optimizer" if lifetime.end > outer.end else "temporary"
            if outer.kind is Kind.RANGE and outer.name.startswith("enumerate(Data"):
                return "batch" if lifetime.end > outer.end else "temporary"
            if outer.kind is Kind.NODE:
                place = bisect_right(self._begins, outer.begin) - 1
                is_left = lifetime.end > self._passes[place][1]
                return "gradient" if is_left else "temporary"
        following = bisect_right(self._begins, lifetime.begin)
        if following < len(self._begins) and lifetime.end > self._begins[following]:
            return "saved"
        return "temporary" if lifetime.end < _FOREVER else "other"


def module_of(event: Event | None) -> str:
    """The class of the innermost module around; empty if modules were not recorded."""
    found = (outer.name for outer in ancestors(event) if outer.kind is Kind.MODULE)
    return next(found, "")


def op_of(event: Event | None) -> str:
    """The outermost call around."""
    calls = [outer.name for outer in ancestors(event) if outer.kind is Kind.CALL]
    return calls[-1] if calls else ""


def line_of(log: Log, event: Event | None) -> Line | None:
    """The user's line."""
    return log.user_line(event.line) if event is not None else None

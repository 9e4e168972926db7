"""Where the time of a log went: to each event what no event inside of it took, and to
Python what no event took, so that all sums to the log's time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pellucid.profiler._timeline.log import Event, Kind, Log, Thread

# Storages and blocks take no time; steps and shares are parts of their call.
_TIMED = frozenset(Kind) - {
    *(Kind.MAKE, Kind.FREE, Kind.TAKE_BLOCK, Kind.GIVE_BLOCK),
    *(Kind.STEP, Kind.SHARE, Kind.MODULE, Kind.RANGE),
}


class Share(NamedTuple):
    """A stretch of a thread's time: of an event alone, or of Python before ``event``
    if ``is_python``; None at the end.
    """

    event: Event | None
    nanoseconds: float
    is_python: bool


def is_timed(event: Event) -> bool:
    """Whether an event's own time is shown as time of its own."""
    return event.kind in _TIMED


def timed_parent(event: Event) -> Event | None:
    """The innermost timed event around."""
    outer = event.parent
    while outer is not None and outer.kind not in _TIMED:
        outer = outer.parent
    return outer


def main_thread(log: Log) -> Thread | None:
    """The thread that called most."""
    counts = {
        thread.system_id: sum(event.kind is Kind.CALL for event in thread.events)
        for thread in log.threads
    }
    most = max(log.threads, key=lambda t: counts[t.system_id], default=None)
    return most


def shares(log: Log, thread: Thread) -> Iterator[Share]:
    """The time of a thread from the log's beginning to its end, in pieces."""
    inside: dict[Event, float] = {}
    outermost = []
    timed = sorted(filter(is_timed, thread.events), key=lambda event: event.begin)
    for event in timed:
        outer = timed_parent(event)
        if outer is None:
            outermost.append(event)
        else:
            inside[outer] = inside.get(outer, 0.0) + max(event.duration, 0.0)
    for event in timed:
        own = event.duration - inside.get(event, 0.0)
        yield Share(event, max(own, 0.0), is_python=False)
    at = log.begin
    for event in outermost:
        if event.begin > at:
            yield Share(event, event.begin - at, is_python=True)
        at = max(at, event.end)
    if log.end > at:
        yield Share(None, log.end - at, is_python=True)

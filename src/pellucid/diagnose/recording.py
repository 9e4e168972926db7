"""Runs of a program under the timeline, and its computations as rows.

``record`` runs a function until the figures are steady and keeps, for each of its
calls, the least time of several runs. A row is one computation: a call that no other
computation contains. Used by roofline.py, page.py and verdict.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import (
    ROUTES,
    Event,
    Kind,
    Line,
    Log,
    Session,
    Watch,
)
from pellucid.profiler._timeline.storages import ancestors
from pellucid_compiler.ir.cost import Cost

_SECONDS, _RUNS = 0.3, 20


@dataclass
class Computation:
    """A call: ``seconds`` at the least, its line, its cost as written and as run, which
    are None where they are not known.
    """

    event: Event
    seconds: float
    line: Line | None
    written: Cost | None
    run: Cost | None
    dtype: str
    routes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The op's, without its namespace."""
        return shown_op(self.event.name)


@cache
def shown_op(name: str) -> str:
    """An op's name as reports have it."""
    from pellucid.profiler._build import shown_name

    return shown_name(Kind.CALL, name).removeprefix("aten::")


def record_runs(
    fn: Callable[..., Any],
    args: Any,
    kwargs: Any,
    what: Watch,
    seconds: float = _SECONDS,
) -> list[Log]:
    """Logs of several runs, after one that is not recorded."""
    fn(*args, **kwargs)
    logs: list[Log] = []
    end = time.perf_counter() + seconds
    while not logs or (time.perf_counter() < end and len(logs) < _RUNS):
        logs.append(record_once(fn, args, kwargs, what))
    return logs


def record_once(fn: Callable[..., Any], args: Any, kwargs: Any, what: Watch) -> Log:
    """The log of one run."""
    session = Session(what)
    session.start()
    try:
        fn(*args, **kwargs)
    finally:
        log = session.stop()
    return log


def computations(logs: list[Log], costs: CostCounter) -> list[Computation]:
    """Those of the fastest run, each with the least time of all runs that made the
    same calls.
    """
    fastest = min(logs, key=lambda log: log.end - log.begin)
    events = outermost(fastest, costs)
    times = [event.duration for event in events]
    for log in logs:
        others = outermost(log, costs)
        if [e.name for e in others] == [e.name for e in events]:
            pairs = zip(times, others, strict=True)
            times = [min(least, other.duration) for least, other in pairs]
    routes: dict[Event, list[str]] = {}
    for event in fastest.events:
        if event.kind is Kind.STEP and event.detail and event.parent is not None:
            routes.setdefault(event.parent, []).append(ROUTES[event.detail])
    return [
        _computation(fastest, event, nanoseconds, costs, routes.get(event, []))
        for event, nanoseconds in zip(events, times, strict=True)
    ]


def _computation(
    log: Log, event: Event, nanoseconds: float, costs: CostCounter, routes: list[str]
) -> Computation:
    arguments = event.thread.arguments(event)
    dtypes = (getattr(argument, "dtype", None) for argument in arguments)
    return Computation(
        event,
        nanoseconds / 1e9,
        log.user_line(event.line),
        costs.of(event),
        costs.as_run(event, routes),
        next((dtype for dtype in dtypes if dtype), "float32"),
        tuple(dict.fromkeys(routes)),
    )


def outermost(log: Log, costs: CostCounter) -> list[Event]:
    """The calls with a cost of their own, or without calls inside, and none within
    another of these.
    """
    calls = [event for event in log.events if event.kind is Kind.CALL]
    around = {outer for event in calls for outer in ancestors(event)}
    found: dict[Event, None] = {}
    for event in calls:
        if any(outer in found for outer in ancestors(event)):
            continue
        if event not in around or costs.of(event) is not None:
            found[event] = None
    return list(found)

"""Runs of a program under the timeline, and its computations.

``record_runs`` runs a function until timings are stable; `computations` has, for each
of its calls, the minimum time over several runs. Calls that no other computation
contains are counted, equal ones as one `Computation`, whose cost is computed once. Used
by roofline.py, page.py and verdict.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pellucid.profiler._timeline.columns import Array, grouped
from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import (
    ROUTES,
    Kind,
    Line,
    Log,
    Session,
    Watch,
)
from pellucid_compiler.ir.cost import Cost

_SECONDS, _RUNS = 0.3, 20


@dataclass
class Computation:
    """Equal calls at one line: of an op, with equal arguments. ``rows`` in the log and
    ``seconds``, at the least, have an entry for each call; ``written`` and ``run`` are
    the cost of one call as written and as run, None where they are not known;
    ``is_copy``: it only copies elements.
    """

    op: str
    arguments: list[Any]
    rows: Array
    seconds: Array
    line: Line | None
    written: Cost | None
    run: Cost | None
    dtype: str
    routes: tuple[str, ...]
    is_copy: bool = False

    @property
    def calls(self) -> int:
        """How many there are."""
        return len(self.rows)

    @property
    def total(self) -> float:
        """Seconds of all calls."""
        return float(self.seconds.sum())

    @property
    def name(self) -> str:
        """The op's, without its namespace."""
        return shown_op(self.op)


@cache
def shown_op(name: str) -> str:
    """An op's name as reports have it."""
    from pellucid.profiler._build import shown_name

    return shown_name(Kind.CALL, name).removeprefix("aten::")


def record_runs(
    fn: Callable[..., Any],
    args: Any,
    kwargs: Any,
    watch: Watch,
    seconds: float = _SECONDS,
) -> list[Log]:
    """Logs of several runs, after one that is not recorded."""
    fn(*args, **kwargs)
    logs: list[Log] = []
    end = time.perf_counter() + seconds
    while not logs or (time.perf_counter() < end and len(logs) < _RUNS):
        logs.append(record_once(fn, args, kwargs, watch))
    return logs


def record_once(fn: Callable[..., Any], args: Any, kwargs: Any, watch: Watch) -> Log:
    """The log of one run."""
    session = Session(watch)
    session.start()
    try:
        fn(*args, **kwargs)
    finally:
        log = session.stop()
    return log


def computations(logs: list[Log], costs: CostCounter) -> list[Computation]:
    """Those of the fastest run, each call with the least time of all runs that made
    the same calls.
    """
    fastest = min(logs, key=lambda log: log.end - log.begin)
    columns, rows = fastest.columns, outermost(fastest, costs)
    names = [columns.names[name] for name in columns.name[rows].tolist()]
    seconds = _durations(fastest, rows)
    for log in logs:
        others = log.columns, outermost(log, costs)
        if [others[0].names[n] for n in others[0].name[others[1]].tolist()] == names:
            seconds = np.minimum(seconds, _durations(log, others[1]))
    places, lines = fastest.user_lines(rows)
    numbers, _ = columns.arguments
    routes = _routes(fastest)[rows]
    keys = columns.name[rows], numbers[rows], places, routes
    _, groups = grouped(*keys)
    listed: dict[int, Computation] = {}
    # The longest first: there may be no time for all costs (`CostCounter`).
    for place in np.argsort([-seconds[group].sum() for group in groups]).tolist():
        group = groups[place]
        first = group[0]
        line = lines[places[first]] if places[first] >= 0 else None
        drivers = tuple(r for k, r in enumerate(ROUTES) if int(routes[first]) >> k & 1)
        listed[place] = _computation(
            fastest, rows[group], seconds[group], line, drivers, costs
        )
    return [listed[place] for place in range(len(groups))]


def _durations(log: Log, rows: Array) -> Array:
    durations: Array = (log.columns.end[rows] - log.columns.begin[rows]) / 1e9
    return durations


def _routes(log: Log) -> Array:
    """Of each row the drivers of the products in its own steps, a bit each."""
    columns = log.columns
    steps = columns.rows_of(Kind.STEP)
    steps = steps[(columns.detail[steps] > 0) & (columns.parent[steps] >= 0)]
    routes = np.zeros(len(columns), np.int64)
    bits = np.left_shift(1, columns.detail[steps].astype(np.int64))
    np.bitwise_or.at(routes, columns.parent[steps], bits)
    return routes


def _computation(
    log: Log,
    rows: Array,
    seconds: Array,
    line: Line | None,
    routes: tuple[str, ...],
    costs: CostCounter,
) -> Computation:
    row = int(rows[0])
    op, arguments = log.columns.names[log.columns.name[row]], log.arguments(row)
    dtypes = (getattr(argument, "dtype", None) for argument in arguments)
    return Computation(
        op,
        arguments,
        rows,
        seconds,
        line,
        costs.of_call(op, arguments),
        costs.as_run(op, arguments, routes),
        next((dtype for dtype in dtypes if dtype), "float32"),
        routes,
        costs.copies(op, arguments),
    )


def outermost(log: Log, costs: CostCounter) -> Array:
    """The rows of the calls with a cost of their own, or without calls inside, and none
    within another of these.
    """
    columns = log.columns
    rows, is_call = columns.rows_of(Kind.CALL), columns.kind == Kind.CALL
    outer = columns.nearest(columns.parent[rows], is_call)
    around = np.zeros(len(columns), np.int64)
    around[rows] = outer
    has_inner = np.zeros(len(columns), bool)
    has_inner[outer[outer >= 0]] = True
    is_found = np.zeros(len(columns), bool)
    left = rows[outer < 0]
    while len(left):
        parts = left[has_inner[left]]
        is_found[left] = True
        is_found[parts] = _has_cost(log, parts, costs)
        is_open = np.zeros(len(columns), bool)
        is_open[parts[~is_found[parts]]] = True
        left = rows[(outer >= 0) & is_open[outer]]
    return np.flatnonzero(is_found)


def _has_cost(log: Log, rows: Array, costs: CostCounter) -> Array:
    """Of calls, whether their cost is known; equal ones are looked up once."""
    columns = log.columns
    number, groups = grouped(columns.name[rows], columns.arguments[0][rows])
    known = []
    for group in groups:
        row = int(rows[group[0]])
        op, arguments = columns.names[columns.name[row]], log.arguments(row)
        known.append(costs.of_call(op, arguments) is not None)
    return np.array(known, bool)[number]

"""Where the time of a log went: to each event what no event inside of it took, and to
Python what no event took, so that all sums to the log's time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.log import Event, Kind, Log, Thread

# Storages and blocks take no time; steps and shares are parts of their call.
TIMED = frozenset(Kind) - {
    *(Kind.MAKE, Kind.FREE, Kind.TAKE_BLOCK, Kind.GIVE_BLOCK),
    *(Kind.STEP, Kind.SHARE, Kind.MODULE, Kind.RANGE),
}


@dataclass
class Shares:
    """Stretches of a thread's time, one a place: of the event at ``rows`` alone, or of
    Python before it where ``is_python``; the row is -1 at the end.
    """

    rows: Array
    nanoseconds: Array
    is_python: Array

    def events(self, log: Log) -> list[Event | None]:
        """The event of each stretch; None at the end."""
        return [log.event(row) if row >= 0 else None for row in self.rows.tolist()]


def is_timed(event: Event) -> bool:
    """Whether an event's own time is shown as time of its own."""
    return event.kind in TIMED


def main_thread(log: Log) -> Thread | None:
    """The thread that called most."""
    calls = log.columns.thread[log.columns.rows_of(Kind.CALL)]
    counts = np.bincount(calls, minlength=len(log.threads))
    return log.threads[int(counts.argmax())] if log.threads else None


def shares(log: Log, thread: Thread | None) -> Shares:
    """The time of a thread from the log's beginning to its end, in pieces."""
    columns = log.columns
    own_rows = thread.rows if thread is not None else np.zeros(0, np.int64)
    is_wanted = np.isin(columns.kind, list(TIMED))
    rows = own_rows[is_wanted[own_rows]]
    outer = columns.nearest(columns.parent[rows], is_wanted)
    begin, end = columns.begin[rows], columns.end[rows]
    inside = np.zeros(len(columns))
    is_inner = outer >= 0
    np.add.at(inside, outer[is_inner], np.maximum(end - begin, 0.0)[is_inner])
    own = np.maximum(end - begin - inside[rows], 0.0)
    first, starts, ends = rows[~is_inner], begin[~is_inner], end[~is_inner]
    reached = np.maximum.accumulate(np.concatenate([[log.begin], ends]))
    gaps = np.append(starts, log.end) - reached
    between = np.append(first, -1)[gaps > 0]
    return Shares(
        np.concatenate([rows, between]),
        np.concatenate([own, gaps[gaps > 0]]),
        np.repeat([False, True], [len(rows), len(between)]),
    )

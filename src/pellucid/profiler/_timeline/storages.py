"""The storages that a log saw: who made them, how long they lived, what for.

Used by memory timelines and by reports of peaks. A storage's role follows from when it
was made and how long it was needed: a temporary ends in the phase that made it, what
outlives a forward pass until the backward pass is saved, what a backward pass leaves is
a gradient, what an optimizer's step leaves is its state.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from pellucid.profiler._timeline.columns import Array, grouped
from pellucid.profiler._timeline.log import Event, Kind, Line, Log

ROLES = (
    *("parameter", "gradient", "optimizer", "batch", "saved", "temporary", "other"),
)
OPTIMIZER, LOADER = "Optimizer.step", "enumerate(Data"  # names of ranges begin so
# Of `nn/parallel`: a bucket is sent, reduced on another thread, waited for.
BUCKET, REDUCED, BUCKETS = (
    f"DistributedDataParallel.{name}" for name in ("bucket", "reduced", "wait")
)
_FOREVER = float("inf")


class Storages:
    """Every storage that was made or freed, in the order in which they were made.

    Columns: ``begin`` and ``end``, which is infinite for what outlived the log;
    ``nbytes``, ``address``; ``made``: the row of the event that made it, -1 for what
    was there before the session.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        columns = log.columns
        rows = columns.rows_of(Kind.MAKE, Kind.FREE)
        rows = rows[np.argsort(columns.address[rows], kind="stable")]
        address, is_made = columns.address[rows], columns.kind[rows] == Kind.MAKE
        # Of one address in turn: what is freed was made just before, or never seen.
        follows = np.append(address[1:] == address[:-1], False)[: len(rows)]
        is_freed = follows & is_made & ~np.append(is_made[1:], True)[: len(rows)]
        is_last = is_made & ~follows
        made = np.flatnonzero(is_freed | is_last)
        is_old = ~is_made & ~np.append(False, is_freed[:-1])[: len(rows)]
        old = np.flatnonzero(is_old)
        ends = np.full(len(made), _FOREVER)
        is_ended = is_freed[made]
        ends[is_ended] = columns.begin[rows[made[is_ended] + 1]]
        begin = np.concatenate(
            [columns.begin[rows[made]], np.full(len(old), float(log.begin))]
        )
        end = np.concatenate([ends, columns.begin[rows[old]]])
        source = np.concatenate([rows[made], rows[old]])
        order = np.argsort(begin, kind="stable")
        self.begin, self.end = begin[order], end[order]
        self.made = np.concatenate([rows[made], np.full(len(old), -1)])[order]
        self.nbytes = np.abs(columns.bytes[source])[order]
        self.address = columns.address[source][order]

    def __len__(self) -> int:
        return len(self.begin)

    def event(self, place: int) -> Event | None:
        """What made a storage."""
        row = int(self.made[place])
        return self.log.event(row) if row >= 0 else None

    @cached_property
    def roles(self) -> Array:
        """Of each storage a place in `ROLES`."""
        columns = self.log.columns
        begins, ends = backward_passes(self.log)
        is_step = columns.is_named(Kind.RANGE, OPTIMIZER)
        is_loader = columns.is_named(Kind.RANGE, LOADER)
        is_node = columns.kind == Kind.NODE
        is_new = self.made >= 0
        outer = np.where(is_new, columns.parent[self.made], -1)
        outer = columns.nearest(outer, is_step | is_loader | is_node)
        following = np.searchsorted(begins, self.begin, side="right")
        next_begin = np.append(begins, _FOREVER)[following]
        is_saved = self.end > next_begin
        is_temporary = self.end < _FOREVER
        until = columns.end[outer]
        inside = np.searchsorted(begins, columns.begin[outer], side="right") - 1
        until_pass = np.append(ends, _FOREVER)[inside]
        found = np.select(
            [
                ~is_new,
                (outer >= 0) & is_step[outer] & (self.end > until),
                (outer >= 0) & is_loader[outer] & (self.end > until),
                (outer >= 0) & is_node[outer] & (self.end > until_pass),
                outer >= 0,
                is_saved & (next_begin < _FOREVER),
                is_temporary,
            ],
            [
                ROLES.index(role)
                for role in (
                    *("other", "optimizer", "batch", "gradient"),
                    *("temporary", "saved", "temporary"),
                )
            ],
            ROLES.index("other"),
        )
        return found

    def role(self, place: int) -> str:
        """One of `ROLES`."""
        return ROLES[self.roles[place]]


def backward_passes(log: Log) -> tuple[Array, Array]:
    """When each began and ended, in order."""
    columns = log.columns
    rows = columns.rows_of(Kind.NODE)
    _, places = grouped(columns.thread[rows], columns.detail[rows])
    begins = np.array([columns.begin[rows[p]].min() for p in places])
    ends = np.array([columns.end[rows[p]].max() for p in places])
    order = np.lexsort((ends, begins))
    return begins[order], ends[order]


def ancestors(event: Event | None) -> Iterator[Event]:
    """The events around this one, the innermost first."""
    while event is not None and (event := event.parent) is not None:
        yield event


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

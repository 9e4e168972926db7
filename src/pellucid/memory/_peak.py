"""``peak(fn, *args)``: every byte at the peak, to a line, module, op, phase and role.

The peak is that of the allocator's blocks, which the timeline records; storages that
live then are rows, what the allocator adds in a row of its own, and what was
there before in rows by role. They sum to the allocator's count, difference 0.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import _C
from pellucid._tensor import Tensor
from pellucid.memory._live import address_of, instances, live_storages
from pellucid.profiler._timeline.log import Event, Kind, Log, Session, Watch
from pellucid.profiler._timeline.storages import (
    Storages,
    ancestors,
    line_of,
    module_of,
    op_of,
)

OWN = "(rounding; tensors' and nodes' own blocks)"
BEFORE = "(before)"


@dataclass(frozen=True)
class Held:
    """One storage, or memory that is not a storage."""

    nbytes: int
    line: str
    module: str
    op: str
    phase: str
    role: str


class Peak:
    """The live memory at the peak. ``nbytes`` is the sum of ``rows``; ``at`` is the
    line that allocated the last block.
    """

    def __init__(self, rows: list[Held], nbytes: int, at: str) -> None:
        self.rows, self.nbytes, self.at = rows, nbytes, at

    def by(self, what: str) -> dict[str, int]:
        """Bytes by "line", "module", "op", "phase" or "role", the most first."""
        if what not in ("line", "module", "op", "phase", "role"):
            raise ValueError(
                f"by({what!r}): the bytes are known by line, module, op, phase, role"
            )
        sums: dict[str, int] = defaultdict(int)
        for row in self.rows:
            sums[getattr(row, what) or "(none)"] += row.nbytes
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def table(self, limit: int = 12) -> str:
        """The largest lines and roles, as text."""
        lines = [f"peak {readable(self.nbytes)} at {self.at or 'an unknown line'}"]
        for what in ("role", "line"):
            lines.append(f"by {what}")
            rows = list(self.by(what).items())
            lines += [f"  {readable(size):>12}  {name}" for name, size in rows[:limit]]
            if len(rows) > limit:
                rest = sum(size for _, size in rows[limit:])
                lines.append(f"  {readable(rest):>12}  {len(rows) - limit} more")
        return "\n".join(lines)

    __str__ = __repr__ = table


def readable(nbytes: int) -> str:
    """``"1.5 MiB"``."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if abs(nbytes) >= 1 << power:
            return f"{nbytes / (1 << power):.1f} {unit}"
    return f"{nbytes} B"


def peak(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Peak:
    """Runs ``fn(*args, **kwargs)`` once; returns the contents of its memory peak.

    Example: ``print(pellucid.memory.peak(step))``.
    """
    before = _roles_before()
    start, log = record(fn, args, kwargs)
    return peak_of(log, start, before)


def record(fn: Callable[..., Any], args: Any, kwargs: Any) -> tuple[int, Log]:
    """The allocated bytes at the beginning, and a log with storages and blocks."""
    session = Session(Watch.MEMORY | Watch.BLOCKS | Watch.LINES | Watch.MODULES)
    session.start()
    start = _C._memory_statistics()["allocated_bytes"]
    try:
        fn(*args, **kwargs)
    finally:
        log = session.stop()
    return start, log


def block_curve(log: Log, start: int) -> list[tuple[Event, int]]:
    """The allocated bytes after each block that was taken or given back."""
    live, curve = start, []
    for event in log.events_of(Kind.TAKE_BLOCK, Kind.GIVE_BLOCK):
        live += event.bytes
        curve.append((event, live))
    return curve


def peak_of(log: Log, start: int, before: dict[str, int]) -> Peak:
    """The peak of a log with storages and blocks; ``before``: bytes by role of what
    was there.
    """
    curve = block_curve(log, start)
    if not curve:
        return Peak(_rows_before(start, before), start, "")
    highest, nbytes = max(curve, key=lambda item: item[1])
    if nbytes <= start:
        return Peak(_rows_before(start, before), start, "")
    moment = highest.begin
    storages = Storages(log)
    is_live = (storages.begin <= moment) & (moment < storages.end)
    live = np.flatnonzero(is_live & (storages.made >= 0))
    rows = [_held(storages, place) for place in live.tolist()]
    left = _left_of_before(log, start, highest)
    rows += _rows_before(left, before)
    own = nbytes - sum(row.nbytes for row in rows)
    rows.append(Held(own, OWN, "", "", "", "allocator"))
    line = log.user_line(highest.line)
    return Peak(rows, nbytes, str(line) if line else "")


def _left_of_before(log: Log, start: int, until: Event) -> int:
    """How much of the initial memory was not freed."""
    taken: set[int] = set()
    for event in log.events_of(Kind.TAKE_BLOCK, Kind.GIVE_BLOCK):
        if event.kind is Kind.TAKE_BLOCK:
            taken.add(event.address)
        elif event.address not in taken:
            start += event.bytes
        if event is until:
            break
    return start


def _held(storages: Storages, place: int) -> Held:
    event = storages.event(place)
    assert event is not None
    line = line_of(storages.log, event)
    return Held(
        int(storages.nbytes[place]),
        str(line) if line else "(an unknown line)",
        module_of(event),
        op_of(event),
        phase_of(event),
        storages.role(place),
    )


def phase_of(event: Event) -> str:
    """ "backward", "optimizer", "data" or "forward"."""
    for outer in ancestors(event):
        if outer.kind is Kind.NODE:
            return "backward"
        if outer.kind is Kind.RANGE and outer.name.startswith("Optimizer.step"):
            return "optimizer"
        if outer.kind is Kind.RANGE and outer.name.startswith("enumerate(Data"):
            return "data"
    return "forward"


def _roles_before() -> dict[str, int]:
    """Bytes of the live storages of Python by role."""
    sums: dict[str, int] = defaultdict(int)
    storages = live_storages()
    roles = {**_optimizer_states(), **_gradients(storages)}
    for address, storage in storages.items():
        sums[roles.get(address, storage.role)] += storage.nbytes
    return dict(sums)


def _gradients(storages: dict[int, Any]) -> dict[int, str]:
    tensors = [t for storage in storages.values() for t in storage.tensors]
    found = (t.grad for t in tensors if t.is_leaf and t.grad is not None)
    return {address_of(gradient): "gradient" for gradient in found}


def _optimizer_states() -> dict[int, str]:
    from pellucid.optim import Optimizer

    optimizers = instances(Optimizer, gc.get_objects())
    entries = [entry for o in optimizers for entry in o.state.values()]
    tensors = [value for entry in entries for value in entry.values()]
    return {address_of(t): "optimizer" for t in tensors if isinstance(t, Tensor)}


def _rows_before(nbytes: int, before: dict[str, int]) -> list[Held]:
    rows = []
    for role, size in before.items():
        part = min(size, nbytes)
        rows.append(Held(part, BEFORE, "", "", "before", role))
        nbytes -= part
    return [*rows, Held(nbytes, BEFORE, "", "", "before", "other")]

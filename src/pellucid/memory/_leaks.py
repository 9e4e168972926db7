"""``leaks(fn, *args)``: memory that every call leaks, with its holders."""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.memory._holders import names_for, paths_to
from pellucid.memory._live import live_storages
from pellucid.memory._peak import readable
from pellucid.profiler._timeline.log import Session, Watch
from pellucid.profiler._timeline.storages import Storages, line_of, op_of


@dataclass(frozen=True)
class Leak:
    """The leak of one line: bytes per call, the op, the holders."""

    line: str
    op: str
    bytes_per_call: int
    holders: tuple[str, ...]

    def __str__(self) -> str:
        held = "; ".join(self.holders[:2]) or "nothing that Python can name"
        size = readable(self.bytes_per_call)
        return f"{self.line}  {self.op}: +{size} a call, held by {held}"


def leaks(
    fn: Callable[..., Any], *args: Any, calls: int = 5, **kwargs: Any
) -> list[Leak]:
    """Calls ``fn`` several times; the lines whose storages stay after each call, the
    largest first. The last call's own are not counted: its result may be wanted.

    Example::

        for leak in pellucid.memory.leaks(step):
            print(leak)
    """
    fn(*args, **kwargs)  # one-time allocations of a first call are not leaks
    session = Session(Watch.MEMORY | Watch.LINES)
    session.start()
    ends = []
    try:
        for _ in range(calls):
            fn(*args, **kwargs)
            gc.collect()
            ends.append(time.perf_counter_ns())
    finally:
        log = session.stop()
    stayed: dict[tuple[str, str], list[list[Any]]] = defaultdict(
        lambda: [[] for _ in ends]
    )
    made = Storages(log)
    for k in np.flatnonzero((made.made >= 0) & (made.end >= ends[-1])).tolist():
        call = next((n for n, end in enumerate(ends) if made.begin[k] < end), None)
        if call is not None:
            event = made.event(k)
            line = line_of(log, event)
            key = str(line) if line else "", op_of(event)
            stayed[key][call].append((int(made.address[k]), int(made.nbytes[k])))
    storages = live_storages()
    found = [
        _leak(key, by_call, storages)
        for key, by_call in stayed.items()
        if all(by_call[:-1])
    ]
    return sorted(found, key=lambda leak: -leak.bytes_per_call)


def _leak(key: tuple[str, str], by_call: list[list[Any]], storages: Any) -> Leak:
    sizes = [sum(nbytes for _, nbytes in items) for items in by_call[:-1]]
    addresses = [address for address, _ in by_call[0][:4]]
    shown = [storages[address] for address in addresses if address in storages]
    names = names_for(shown)
    held = dict.fromkeys(path for storage in shown for path in paths_to(storage, names))
    line, op = key
    return Leak(line, op.removeprefix("aten::"), sum(sizes) // len(sizes), tuple(held))

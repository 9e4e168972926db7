"""Bytes in use by role, over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.profiler._chrome_trace import write_json
from pellucid.profiler._timeline.log import Log
from pellucid.profiler._timeline.storages import ROLES, Storages


def memory_series(log: Log) -> tuple[list[float], list[list[int]]]:
    """Times in microseconds, and the bytes of each of `ROLES` from then on.

    What was there before the session counts from its beginning until it is freed.
    """
    storages = Storages(log)
    changes = []
    columns = storages.begin, storages.end, storages.roles, storages.nbytes
    for begin, end, role, nbytes in zip(*map(np.ndarray.tolist, columns), strict=True):
        changes.append((begin, role, nbytes))
        if end <= log.end:
            changes.append((end, role, -nbytes))
    changes.sort(key=lambda change: change[0])
    times, sizes = [log.begin / 1000], [[0] * len(ROLES)]
    for moment, role, nbytes in changes:
        row = list(sizes[-1])
        row[role] += nbytes
        times.append(moment / 1000)
        sizes.append(row)
    return times, sizes


_PRESENT, _MADE, _FREED = 0, 1, 3  # PyTorch's numbers of what happens to memory


def memory_changes(log: Log) -> list[tuple[int, int, int, int]]:
    """(nanoseconds, what happened, bytes, role) in order; a role is a place in `ROLES`,
    from 1 on, as in PyTorch, whose 0 has no category.
    """
    storages = Storages(log)
    changes = []
    columns = storages.begin, storages.end, storages.roles, storages.nbytes
    made = storages.made.tolist()
    for begin, end, role, nbytes, row in zip(
        *map(np.ndarray.tolist, columns), made, strict=True
    ):
        action = _MADE if row >= 0 else _PRESENT
        changes.append((int(begin), action, nbytes, role + 1))
        if end <= log.end:
            changes.append((int(end), _FREED, nbytes, role + 1))
    return sorted(changes, key=lambda change: change[0])


def write_memory_timeline(log: Log, path: str) -> None:
    """By the ending of ``path``: ``.raw.json.gz`` has the changes, ``.json`` and
    ``.json.gz`` the sums.
    """
    if path.endswith(".raw.json.gz"):
        write_json(memory_changes(log), path)
    elif path.endswith((".json", ".json.gz")):
        times, sizes = memory_series(log)
        # PyTorch's rows begin with what has no category, and count in whole numbers.
        rows: list[Any] = [[0, *row] for row in sizes]
        write_json([[int(time) for time in times], rows], path)
    else:
        raise ValueError(
            f"export_memory_timeline: {path!r} ends in none of .html, .json, .json.gz, "
            ".raw.json.gz"
        )

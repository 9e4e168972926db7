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


def write_memory_timeline(log: Log, path: str) -> None:
    """By the ending of ``path``: ``.json`` or ``.json.gz``."""
    times, sizes = memory_series(log)
    if path.endswith((".json", ".json.gz")):
        # PyTorch's rows begin with what has no category, and count in whole numbers.
        rows: list[Any] = [[0, *row] for row in sizes]
        write_json([[int(time) for time in times], rows], path)
    else:
        raise ValueError(
            f"export_memory_timeline: {path!r} ends in none of .json, .json.gz"
        )

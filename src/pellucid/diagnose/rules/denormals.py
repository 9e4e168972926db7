"""Denormal values, with which the processor computes slowly."""

from __future__ import annotations

import linecache
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid.diagnose.edits import indent_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts, LineTime
from pellucid.profiler._timeline.columns import Array

_CALLS, _SLOWER, _BUSY = 100, 6.0, 0.1


def find(facts: Facts) -> list[Finding]:
    """The line whose equal calls become slower as their values decay."""
    best: tuple[float, float, LineTime] | None = None
    # On a busy machine equal calls differ as much: only values tell.
    if not facts.settings.get("denormals") and facts.shares.get("away", 0.0) > _BUSY:
        return []
    for entry in facts.lines.values():
        share = facts.share_of(entry.total)
        ratio = max((_slowing(items) for items in _alike(entry)), default=0.0)
        if share >= 0.2 and ratio >= _SLOWER and (best is None or share > best[0]):
            best = share, ratio, entry
    if best is None:
        return []
    share, ratio, entry = best
    line = entry.line
    return [
        Finding.at(
            line.file,
            line.number,
            kind="waste",
            evidence=f"{share:.0%} of the time: equal calls take {ratio:.0f}x as long "
            "at the slowest, as values that fade to denormals do",
            fix="torch.set_flush_denormal(True): they count as 0",
            share=share,
            patch=_patch(line.file),
        )
    ]


def _alike(entry: LineTime) -> Iterator[Array]:
    """The seconds of calls of one op with operands of one size, in order."""
    groups: dict[Any, list[Computation]] = defaultdict(list)
    for item in entry.items:
        groups[item.name, item.run.bytes_read if item.run else 0].append(item)
    for items in groups.values():
        rows = np.concatenate([item.rows for item in items])
        if len(rows) >= _CALLS:
            yield np.concatenate([item.seconds for item in items])[np.argsort(rows)]


def _slowing(seconds: Array) -> float:
    """The slowest tenth of the calls, in order, over the first tenth: the minimum of
    each, which excludes interruptions by other programs.
    """
    size = len(seconds) // 10
    times = seconds[: size * 10].reshape(10, size).min(axis=1)
    return float(times.max() / times[0]) if times[0] else 0.0


def _patch(file: str) -> Patch | None:
    """The setting after the import."""
    for number, text in enumerate(linecache.getlines(file), 1):
        if re.match(r"\s*import (torch|pellucid as torch)\s*$", text):
            setting = f"{indent_of(file, number)}torch.set_flush_denormal(True)"
            return Patch(file, ((number + 1, number, (setting,)),))
    return None

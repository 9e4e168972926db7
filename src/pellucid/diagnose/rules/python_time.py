"""A loop whose time is Python's own: parsing, building lists, making objects."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from pellucid.diagnose.edits import enclosing, is_loop
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.log import Kind, Line
from pellucid.profiler._timeline.storages import LOADER

_SHARE, _COUNT = 0.25, 3
_LONG = 2e5  # nanoseconds between two calls that are more than the calls' own cost
_OTHERS = "torch.save", "torch.load", "Tensor.__repr__", LOADER


def find(facts: Facts) -> list[Finding]:
    """The line before, or at, which Python regularly takes long without a call."""
    if facts.shares.get("wait", 0.0) > facts.shares.get("python", 0.0):
        return []  # asleep: ``sleeps.py``
    columns = facts.log.columns
    is_gap = facts.pieces.is_python & (facts.pieces.rows >= 0)
    rows, lengths = facts.pieces.rows[is_gap], facts.pieces.nanoseconds[is_gap]
    is_other = np.zeros(len(columns), bool)
    for name in _OTHERS:
        is_other |= columns.is_named(Kind.RANGE, name)
    is_own = columns.nearest(rows, is_other) < 0
    rows, lengths = rows[is_own], lengths[is_own]
    groups: dict[Line, list[float]] = defaultdict(list)
    for row, length in zip(_places(facts, rows, lengths), lengths.tolist(), strict=True):
        line = facts.log.user_line(int(columns.line[row]))
        if line is not None and enclosing(line.file, line.number, is_loop):
            groups[line._replace(caller=0)].append(length)
    findings = []
    for line, gaps in groups.items():
        share = facts.share_of(sum(gaps) / 1e9)
        if len(gaps) < _COUNT or share < _SHARE or np.median(gaps) < _LONG:
            continue
        findings.append(
            Finding.at(
                line.file,
                line.number,
                kind="overhead",
                evidence=f"{share:.0%} of the time is Python's own up to this "
                f"line, {np.median(gaps) / 1e6:.1f} ms each of {len(gaps)} times",
                fix="do it once, before the loop, and keep tensors; or in workers of a "
                "DataLoader",
                share=share,
            )
        )
    return findings


def _places(facts: Facts, rows: Array, lengths: Array) -> list[int]:
    """Of each gap the last event in it that took no time, a tensor made of numbers;
    else the call that ended it.
    """
    columns = facts.log.columns
    makes = columns.rows_of(Kind.MAKE)
    ends = columns.begin[rows]
    last = np.searchsorted(columns.begin[makes], ends) - 1
    row = np.append(makes, -1)[last]
    is_inside = (last >= 0) & (columns.begin[row] >= ends - lengths)
    return np.where(is_inside, row, rows).tolist()  # type: ignore[no-any-return]

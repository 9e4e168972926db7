"""Garbage collections that a loop asks for."""

from __future__ import annotations

import numpy as np

from pellucid.diagnose.edits import is_repeated, replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

_SHARE, _COUNT = 0.1, 5
_CALL = r"\bgc\.collect\([^)]*\)"


def find(facts: Facts) -> list[Finding]:
    """``gc.collect()`` in a loop, or in a function that one calls."""
    columns = facts.log.columns
    rows = columns.rows_of(Kind.COLLECT)
    seconds = float(np.sum(columns.end[rows] - columns.begin[rows])) / 1e9
    share = facts.share_of(seconds)
    if share < _SHARE or len(rows) < _COUNT:
        return []
    return [
        Finding.at(
            file,
            number,
            kind="overhead",
            evidence=f"{share:.0%} of the time: {len(rows)} garbage collections, each "
            "of which looks at all objects",
            fix="leave it out: tensors are freed when nothing refers to them",
            share=share,
            patch=replaced(file, number, _CALL, "None"),
        )
        for file, number, _ in facts.matching(_CALL)
        if is_repeated(file, number)
    ]

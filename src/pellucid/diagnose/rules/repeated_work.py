"""Ops that compute again, with or without a graph, what earlier ones computed from the
same values: an encoder for each candidate of one query, a table in every step.

The dataflow numbers values (`flow.py`). `recomputed.py` compares the contents of single
expressions, and knows how to keep them: its finding at a line replaces one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pellucid.diagnose.edits import enclosing, is_loop
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SHARE, _MOST, _PURE, _ALL = 0.2, 0.5, 0.95, 0.9
Place = tuple[str, int]
Lines = Mapping[Place, Mapping[str, float]]


def find(facts: Facts) -> list[Finding]:
    """Nothing: the recording does not show values."""
    return []


def read(flow: Mapping[str, Any]) -> list[Finding]:
    """The outermost lines that do nothing but repeat."""
    lines: Lines = {(file, line): own for file, line, own in flow["lines"]}
    places: dict[Place, list[Place]] = {}
    for one in flow["again"]:
        chain = [(file, line) for file, line in one]
        parts = [_part(lines[place]) for place in chain]
        pure = [p for p, part in zip(chain, parts, strict=True) if part >= _MOST]
        most = _PURE * max(parts)
        outermost = [place for place in pure if _part(lines[place]) >= most][-1:]
        places |= {place: chain for place in outermost}
    found = []
    for place, chain in places.items():
        share = lines[place]["again"] / flow["seconds"]
        if share >= _SHARE and not _repeats_a_loop(chain[-1], lines):
            found.append(_finding(place, min(share, 1.0), lines[place]))
    return found


def _part(own: Mapping[str, float]) -> float:
    """Of the calls of a line, those that repeat others."""
    return own["calls_again"] / max(own["calls"], 1)


def _repeats_a_loop(place: Place, lines: Lines) -> bool:
    """Whether all that the outermost loop does repeats itself: it is there to measure
    or to wait.
    """
    file, line = place
    loops = enclosing(file, line, is_loop)
    if not loops:
        return False
    inside = [
        own
        for (name, number), own in lines.items()
        if name == file and loops[0].lineno <= number <= (loops[0].end_lineno or 0)
    ]
    again = sum(own["again"] for own in inside)
    return again >= _ALL * sum(own["seconds"] for own in inside)


def _finding(place: Place, share: float, own: Mapping[str, float]) -> Finding:
    file, line = place
    return Finding.at(
        file,
        line,
        kind="waste",
        evidence=f"{share:.0%} of the time: {own['calls_again']} of {own['calls']} ops "
        "of this line were computed before from the same values",
        fix="compute it once, before the loop, in __init__ or once a step, and hand "
        "the result on",
        share=share,
        is_certain=True,
    )

"""Graphs that are kept after their only backward pass."""

from __future__ import annotations

import linecache
import re

from pellucid.diagnose.edits import enclosing, is_loop, replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

_ARGUMENT = r"(?:,\s*)?retain_graph=True"


def find(facts: Facts) -> list[Finding]:
    """``backward(retain_graph=True)`` in a loop that calls it once a round."""
    if not any(event.kind is Kind.NODE for event in facts.log.events):
        return []
    for file, number, _ in facts.matching(r"\.backward\([^)]*retain_graph=True"):
        loops = enclosing(file, number, is_loop)
        if not loops or _backwards(file, loops[-1]) != 1:
            continue
        return [
            Finding.at(
                file,
                number,
                kind="peak",
                evidence="what forward saved lives on while the next round saves its "
                "own",
                fix="leave retain_graph out: the graph is used once",
                share=0.06,
                patch=replaced(file, number, _ARGUMENT, ""),
            )
        ]
    return []


def _backwards(file: str, loop: object) -> int:
    first, last = loop.lineno, loop.end_lineno  # type: ignore[attr-defined]
    lines = linecache.getlines(file)[first - 1 : last]
    return len(re.findall(r"\.backward\(|autograd\.grad\(", "".join(lines)))

"""Forward passes that record a graph without any backward pass."""

from __future__ import annotations

import numpy as np

from pellucid.diagnose.edits import called_in_loops, enclosing, is_loop, wrapped
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind


def find(facts: Facts) -> list[Finding]:
    """The loop whose calls record nodes, in a program without backward passes."""
    columns = facts.log.columns
    calls = columns.rows_of(Kind.CALL)
    numbers = columns.sequence[calls]
    numbers = numbers[numbers >= 0]
    if len(columns.rows_of(Kind.NODE)) or not len(numbers):
        return []
    recorded = int(numbers.max() - numbers.min())
    if recorded < 10 or recorded < 0.2 * len(calls):
        return []
    places, lines = facts.log.user_lines(calls)
    nodes = np.diff(columns.sequence[calls], append=columns.sequence[calls][-1:])
    counts = np.bincount(places[places >= 0], nodes[places >= 0], len(lines))
    for place in np.argsort(-counts, kind="stable").tolist():
        file, number = _in_loop(lines[place].file, lines[place].number)
        loops = enclosing(file, number, is_loop)
        if loops:
            return [
                Finding.at(
                    file,
                    number,
                    kind="waste",
                    evidence=f"{recorded} nodes are recorded, no backward pass runs",
                    fix="with torch.no_grad(): around the loop",
                    share=max(facts.shares.get("overhead", 0.0) * 0.5, 0.06),
                    patch=wrapped(file, loops[0], "with torch.no_grad():"),
                )
            ]
    return []


def _in_loop(file: str, number: int) -> tuple[str, int]:
    """The line, or the line in a loop of the file that calls its function."""
    if not enclosing(file, number, is_loop):
        for _, statement, _ in called_in_loops(file):
            return file, statement.lineno
    return file, number

"""A loop that reads a tensor's elements one by one: each read is an op, and a number of
Python's. Its iterations may well need each other, as those of a count do.
"""

from __future__ import annotations

import ast
from collections import Counter

import numpy as np

from pellucid.diagnose.edits import tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

_SHARE, _READS = 0.15, 300
_CALLS, _SHORT = 8, 3e-5  # in such a loop for each read, and their seconds at the most
_LOOPS = ast.For | ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
Place = tuple[str, int]


def find(facts: Facts) -> list[Finding]:
    """The line with the most reads of each outermost loop that does little else."""
    columns = facts.log.columns
    places, lines = facts.log.user_lines(columns.rows_of(Kind.READ))
    counts = np.bincount(places[places >= 0], minlength=len(lines)).tolist()
    reads: Counter[Place] = Counter()
    for line, count in zip(lines, counts, strict=True):
        reads[line.file, line.number] += count
    findings = []
    for file in {file for file, _ in reads}:
        seen: list[ast.AST] = []
        for loop in _loops(file):  # the outermost first
            own = {p: n for p, n in reads.items() if p[0] == file and _holds(loop, p)}
            is_inner = any(_is_within(loop, outer) for outer in seen)
            total = sum(own.values())
            if (
                is_inner
                or total < _READS
                or not _does_little_else(facts, file, loop, total)
            ):
                continue
            share = facts.share_of(facts.within(file, loop).total)
            if share >= _SHARE:
                seen.append(loop)
                findings.append(_finding(max(own, key=lambda p: own[p]), share, total))
    return findings


def _loops(file: str) -> list[ast.AST]:
    tree = tree_of(file)
    loops = [
        node for node in (ast.walk(tree) if tree else ()) if isinstance(node, _LOOPS)
    ]
    return sorted(loops, key=_place_of)


def _place_of(loop: ast.AST) -> tuple[int, int]:
    return loop.lineno, -loop.end_lineno  # type: ignore[attr-defined]


def _holds(loop: ast.AST, place: Place) -> bool:
    return bool(loop.lineno <= place[1] <= loop.end_lineno)  # type: ignore[attr-defined]


def _is_within(inner: ast.AST, outer: ast.AST) -> bool:
    return bool(
        outer.lineno <= inner.lineno and inner.end_lineno <= outer.end_lineno  # type: ignore[attr-defined]
    )


def _does_little_else(facts: Facts, file: str, loop: ast.AST, reads: int) -> bool:
    inside = facts.within(file, loop)
    own = inside.total * facts.running
    return inside.calls <= _CALLS * reads and own <= _SHORT * max(inside.calls, reads)


def _finding(place: Place, share: float, reads: int) -> Finding:
    return Finding.at(
        *place,
        kind="overhead",
        evidence=f"{share:.0%} of the time reads {reads} numbers one by one, and does "
        "little else",
        fix="tolist() of the whole tensor before the loop; or count with whole "
        "tensors: bincount, comparisons and sums",
        share=share,
        is_certain=True,
    )

"""A line whose op has more to do each time it runs: over everything seen so far, or
over a sequence that is computed again from its beginning. Its time is quadratic in the
number of rounds.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from statistics import median
from typing import Any

import pellucid as torch
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.recording import Computation, tags_of
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.facts import UNRECORDED

_TAGS = {torch.Tag.pointwise, torch.Tag.reduction}
_SHARE, _SIZES, _LARGER, _STEADY = 0.15, 24, 4, 0.8
_SLOWER = 1.8  # the last quarter of the calls than the first, by their medians


def find(facts: Facts) -> list[Finding]:
    """The line that grows longest, for each function."""
    groups: dict[Any, list[Computation]] = defaultdict(list)
    for item in facts.items:
        if item.line is not None and _works_on_all(item):
            groups[item.line, item.name].append(item)
    grown: dict[Any, dict[int, float]] = defaultdict(dict)
    sizes: dict[Any, tuple[int, int]] = {}
    for (line, _), items in groups.items():
        spread = _growth(items)
        if spread is not None:
            place = line.file, line.function
            grown[place][line.number] = facts.lines[line.file, line.number].total
            sizes[line.file, line.number] = spread
    findings = []
    for (file, _), lines in grown.items():
        share = facts.share_of(sum(lines.values()))
        number = max(lines, key=lambda n: lines[n])
        if share >= _SHARE:
            findings.append(_finding(file, number, share, sizes[file, number]))
    return findings


def _works_on_all(item: Computation) -> bool:
    """Whether a call works on every element of its own: a copy, a map, a reduction, an
    op on many tensors. Attention of one query to all keys is what a decoder needs.
    """
    is_of_many = UNRECORDED in item.arguments
    return item.is_copy or is_of_many or bool(_TAGS & tags_of(item.op))


def _growth(items: list[Computation]) -> tuple[int, int] | None:
    """The smallest and the largest number of elements that an op reads at a line, if
    it grows from call to call.
    """
    if len(items) < _SIZES:
        return None
    ordered = sorted(items, key=lambda item: int(item.rows[0]))
    if any(UNRECORDED in item.arguments for item in ordered):
        return _growth_of_time(ordered)
    sizes = [_elements(item.arguments) for item in ordered]
    steps = [b - a for a, b in pairwise(sizes)]
    growing = sum(step > 0 for step in steps)
    if growing < _STEADY * len(steps) or max(sizes) < _LARGER * max(min(sizes), 1):
        return None
    return min(sizes), max(sizes)


def _growth_of_time(ordered: list[Computation]) -> tuple[int, int] | None:
    """The same of an op with too many tensors to record: it takes longer and longer."""
    quarter = len(ordered) // 4
    first, last = _median(ordered[:quarter]), _median(ordered[-quarter:])
    return (1, len(ordered)) if last > _SLOWER * first else None


def _median(items: list[Computation]) -> float:
    return median(item.total / item.calls for item in items)


def _elements(arguments: Any) -> int:
    """Of all tensors among arguments."""
    total = 0
    for argument in arguments:
        if isinstance(argument, list):
            total += _elements(argument)
        elif hasattr(argument, "strides"):
            size = 1
            for length in argument.shape:
                size *= length
            total += size
    return total


def _finding(file: str, number: int, share: float, sizes: tuple[int, int]) -> Finding:
    return Finding.at(
        file,
        number,
        kind="waste",
        evidence=f"{share:.0%} of the time: each round works on more than the one "
        f"before, from {sizes[0]} to {sizes[1]} elements",
        fix="keep what a round needs of the earlier ones: sums and counts, the last "
        "state, keys and values; or compute it once, at the end",
        share=share,
        is_certain=True,
    )

"""A Python loop over elements: calls on a few elements each."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pellucid.diagnose.edits import repeating
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts, LineTime
from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.log import Kind

_FEW = 16  # elements per call
_MANY = 300  # calls per line


def find(facts: Facts) -> list[Finding]:
    """The line in a loop with most time in small calls."""
    if facts.own_share("overhead", "python", "data") < 0.4:
        return []
    loops: dict[tuple[str, int], list[LineTime]] = defaultdict(list)
    others = facts.ranges("torch.save").keys() | facts.ranges("Tensor.__repr__").keys()
    is_node = facts.log.columns.kind == Kind.NODE
    for place, entry in facts.lines.items():
        if place in others:
            continue  # the package's own calls: ``saves.py``, ``formats.py``
        small = sum(
            i.calls
            for i in entry.items
            if _elements(i) <= _FEW and not _is_backward(facts, i, is_node)
        )
        loop = repeating(entry.line.file, entry.line.number)
        if loop and small >= _MANY and small >= 0.8 * entry.calls_of():
            loops[entry.line.file, loop].append(entry)
    entries = max(loops.values(), key=_seconds, default=[])
    share = facts.share_of(_seconds(entries))
    if share < 0.1:
        return []
    calls = sum(entry.calls for entry in entries)
    line = max(entries, key=lambda entry: entry.total).line
    return [
        Finding.at(
            line.file,
            line.number,
            kind="overhead",
            evidence=f"{share:.0%} of the time: {calls} calls of at most {_FEW} "
            "elements, one at a time",
            fix="compute whole tensors at once instead of elements in a loop",
            share=share,
        )
    ]


def _seconds(entries: list[LineTime]) -> float:
    return sum(entry.total for entry in entries)


def _is_backward(facts: Facts, item: Any, is_node: Array) -> bool:
    """Whether a backward node made the call: then the loop is the engine's."""
    return bool(facts.log.columns.nearest(item.rows[:1], is_node)[0] >= 0)


def _elements(item: Any) -> int:
    """The elements that a call writes; 0 for views and calls of unknown cost."""
    return 0 if item.run is None else int(item.run.bytes_written // 4)

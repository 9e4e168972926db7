"""A loop in Python over elements: calls of a few elements each."""

from __future__ import annotations

from typing import Any

from pellucid.diagnose.edits import is_repeated
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_FEW = 16  # elements of a call
_MANY = 300  # calls of a line


def find(facts: Facts) -> list[Finding]:
    """The line in a loop with most time in small calls."""
    if facts.own_share("overhead", "python", "data") < 0.4:
        return []
    best = None
    for entry in facts.lines.values():
        small = sum(_elements(item) <= _FEW for item in entry.items)
        if small < _MANY or small < 0.8 * len(entry.items):
            continue
        if is_repeated(entry.line.file, entry.line.number) and (
            best is None or entry.total > best.total
        ):
            best = entry
    if best is None or facts.share_of(best.total) < 0.2:
        return []
    line, share = best.line, facts.share_of(best.total)
    return [
        Finding.at(
            line.file,
            line.number,
            kind="overhead",
            evidence=f"{share:.0%} of the time: {best.calls} calls of at most {_FEW} "
            "elements, one at a time",
            fix="compute whole tensors at once instead of elements in a loop",
            share=share,
        )
    ]


def _elements(item: Any) -> int:
    """That a call writes; 0 for views and calls of unknown cost, which write little."""
    return 0 if item.run is None else int(item.run.bytes_written // 4)

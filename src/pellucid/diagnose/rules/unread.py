"""Elements that nothing reads: a layer at every position of which the last is used, a
whole image before a small crop, scores of all classes before some are picked.

`needed.py` says which; the fix is to take the part before computing with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.diagnose.edits import statement_at, text_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SHARE, _PART, _CALLS = 0.12, 0.6, 2
_TEXT = 50


def find(facts: Facts) -> list[Finding]:
    """Nothing: the recording does not show what is read."""
    return []


def read(flow: Mapping[str, Any]) -> list[Finding]:
    """A finding for each line that reads a part of what others compute."""
    groups: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for waste in flow["unread"]:
        reader = waste["reader"]
        # What nothing reads at all is a fault of its own line.
        groups[tuple(reader or waste["place"]), reader is None].append(waste)
    found = []
    for (place, is_dead), wastes in groups.items():
        share = sum(waste["unread"] for waste in wastes) / flow["seconds"]
        most = max(wastes, key=lambda waste: float(waste["unread"]))
        if share < _SHARE or most["part"] > _PART or most["calls"] < _CALLS:
            continue
        found.append(_finding(place, is_dead, most, min(share, 1.0)))
    return found


def _finding(
    reader: Sequence[Any], is_dead: bool, most: Mapping[str, Any], share: float
) -> Finding:
    file, line = most["place"]
    shape = "x".join(map(str, most["shape"]))
    what = f"{most['op']} of {shape}, {most['calls']} calls"
    if is_dead:
        evidence = f"{share:.0%} of the time computes what nothing reads: {what}"
        fix = "leave it out, or compute it where it is read"
    else:
        evidence = (
            f"{share:.0%} of the time computes what nothing reads: of {what}, "
            f"{most['part']:.1%} is used, by line {reader[1]}: {_text(*reader)}"
        )
        fix = "take that part of the operands first, and compute with it alone"
    facts = {"kind": "waste", "evidence": evidence, "fix": fix, "share": share}
    return Finding.at(file, line, **facts, is_certain=True)


def _text(file: str, line: int) -> str:
    statement = statement_at(file, line)
    text = text_of(file, statement.lineno if statement is not None else line).strip()
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 3]}..."

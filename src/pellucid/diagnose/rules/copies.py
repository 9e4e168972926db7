"""Copies that a loop or a frequently called function repeats."""

from __future__ import annotations

import ast
from collections import defaultdict

from pellucid.diagnose.edits import enclosing, is_loop, replaced
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts, LineTime
from pellucid.profiler._timeline.facts import TensorFacts

_PATTERN = r"\.(clone|contiguous)\(\)"
_PATCHED, _OTHERS, _CALLS = 0.1, 0.2, 5  # share of the time, calls of a line


def find(facts: Facts) -> list[Finding]:
    """Of each loop or function the line that copies longest, with the others' patch."""
    groups: dict[tuple[str, int], list[tuple[LineTime, Patch | None]]]
    groups = defaultdict(list)
    for entry in facts.lines.values():
        file, number = entry.line.file, entry.line.number
        if not any(map(_is_of_one_tensor, entry.items)):
            continue
        patch = replaced(file, number, _PATTERN, "")
        place = _scope(file, number, is_patched=patch is not None)
        if place and sum(i.calls for i in entry.items if i.is_copy) >= _CALLS:
            groups[file, place].append((entry, patch))
    findings = []
    for group in groups.values():
        entries = [entry for entry, patch in group if patch is not None]
        least = _PATCHED if entries else _OTHERS
        entries = entries or [entry for entry, _ in group]
        share = facts.share_of(sum(map(_copying, entries)))
        if share >= least:
            patches = [patch for _, patch in group if patch is not None]
            findings.append(_finding(entries, patches, share))
    return findings


def _scope(file: str, number: int, is_patched: bool) -> int:
    """The line of the innermost enclosing loop; of the function if there is a patch."""
    loops = enclosing(file, number, is_loop)
    functions = enclosing(file, number, lambda n: isinstance(n, ast.FunctionDef))
    scopes = loops or (functions if is_patched else [])
    return scopes[-1].lineno if scopes else 0


def _finding(entries: list[LineTime], patches: list[Patch], share: float) -> Finding:
    line = max(entries, key=_copying).line
    copies = [i for entry in entries for i in entry.items if i.is_copy]
    calls = sum(i.calls for i in copies)
    moved = sum(i.run.bytes_written * i.calls for i in copies if i.run is not None)
    edits = tuple(edit for patch in patches for edit in patch.edits)
    return Finding.at(
        line.file,
        line.number,
        kind="copy",
        evidence=f"{share:.0%} of the time: {calls} calls copy {moved / 2**20:.0f} MiB",
        fix="copy once before the loop, or not at all",
        share=share,
        patch=Patch(line.file, edits) if edits else None,
        keeps_output=True,
    )


def _copying(entry: LineTime) -> float:
    return entry.seconds.get("copy", 0.0)


def _is_of_one_tensor(item: Computation) -> bool:
    """Whether it copies one tensor; joins are the subject of ``cat_in_loop.py``."""
    return item.is_copy and isinstance(item.arguments[0], TensorFacts)

"""Batches of which most is padding."""

from __future__ import annotations

import ast
from collections import defaultdict

from pellucid.diagnose.batches import Padded
from pellucid.diagnose.edits import enclosing, indent_of, statement_at
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_TRIMMED, _FILLED = 0.6, 0.3  # parts of a row that are used: at most, on average
_SEEN = 3


def find(facts: Facts) -> list[Finding]:
    """Calls of modules whose batches are longer than their longest row, or far longer
    than most rows.
    """
    groups: dict[tuple[str, int], list[Padded]] = defaultdict(list)
    for seen in facts.settings.get("padded", ()):
        groups[seen.file, seen.line].append(seen)
    findings = []
    for (file, number), group in groups.items():
        statement = statement_at(file, number)
        if len(group) < _SEEN or statement is None:
            continue
        used = max(seen.longest / seen.size for seen in group)
        filled = sum(seen.mean / seen.size for seen in group) / len(group)
        is_known = all(seen.is_declared for seen in group)
        if used > _TRIMMED and (filled > _FILLED or not is_known):
            continue  # what no patch tries must be padding by the program's own word
        least = used if used <= _TRIMMED else filled
        share = facts.share_of(_seconds(facts, file, statement)) * (1 - least)
        if share >= 0.1:
            findings.append(_finding(file, number, group, used, share))
    return findings


def _seconds(facts: Facts, file: str, statement: ast.stmt) -> float:
    """What the statement took, with its backward pass."""
    inside = facts.within(file, statement)
    part = inside.nodes / max(int(facts.stacks.nodes.sum()), 1)
    return inside.total + part * sum(facts.backward.values())


def _finding(
    file: str, number: int, group: list[Padded], used: float, share: float
) -> Finding:
    longest, size = max(seen.longest for seen in group), group[0].size
    mean = sum(seen.mean for seen in group) / len(group)
    is_trimmed = used <= _TRIMMED
    return Finding.at(
        file,
        number,
        kind="waste",
        evidence=f"batches have {size} positions; the longest row uses {longest}, the "
        f"average {mean:.0f}: the rest is padding",
        fix="cut each batch to its longest row (pad in the collate function)"
        if is_trimmed
        else "batches of similar lengths: sort by length, or a sampler of buckets",
        share=share,
        patch=_patch(file, number, group[0]) if is_trimmed else None,
    )


def _patch(file: str, number: int, seen: Padded) -> Patch | None:
    """Cuts the variables of the batch before the statement that calls the module."""
    statements = enclosing(file, number, lambda node: True)
    own = [s for s in statements if not isinstance(s, ast.FunctionDef | ast.ClassDef)]
    blocks = [s for s in own if not hasattr(s, "body")]
    if not seen.names or seen.value is None or not blocks:
        return None
    line = blocks[-1].lineno
    name, indent = seen.names[0], indent_of(file, line)
    used = f"({name} != {seen.value!r})" + (".any(-1)" if seen.has_features else "")
    cut = ", ".join(f"{other}[:, :used]" for other in seen.names)
    lines = (
        f"{indent}used = int({used}.any(0).nonzero().max()) + 1",
        f"{indent}{', '.join(seen.names)} = {cut}",
    )
    return Patch(file, ((line, line - 1, lines),))

"""Gradients that no optimizer reads: only a part of a model is trained."""

from __future__ import annotations

import re

from pellucid.diagnose.edits import indent_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.training import Untrained
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

_OPTIMIZER = r"\boptim\.\w+\("


def find(facts: Facts) -> list[Finding]:
    """The optimizer's line, if nodes compute gradients of parameters that it lacks."""
    untrained = facts.settings.get("untrained", ())
    if not untrained:
        return []
    columns = facts.log.columns
    nodes = columns.rows_of(Kind.NODE)
    outer = nodes[columns.parent[nodes] < 0]
    share = facts.share_of((columns.end[outer] - columns.begin[outer]).sum() / 1e9)
    names = ", ".join(entry.name for entry in untrained)
    for file, number, _ in facts.matching(_OPTIMIZER):
        indent = indent_of(file, number)
        lines = tuple(indent + line for one in untrained for line in _frozen(one))
        return [
            Finding.at(
                file,
                number,
                kind="waste",
                evidence=f"{share:.0%} of the time is backward; gradients of {names} "
                "are computed, and no optimizer reads them",
                fix="; ".join(line.strip() for line in lines),
                share=max(share * 0.5, 0.06),
                patch=Patch(file, ((number, number - 1, lines),)),
            )
        ]
    return []


def _frozen(module: Untrained) -> list[str]:
    """Statements that disable gradients except for the trained parameters."""
    parts = [re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", f".{p}") for p in module.trained]
    return [
        f"{module.name}.requires_grad_(False)",
        *(f"{module.name}{part}.requires_grad_(True)" for part in parts),
    ]

"""Gradients that no optimizer reads: only a part of a model is trained."""

from __future__ import annotations

import re

from pellucid.diagnose.edits import indent_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

_PART = r"optim\.\w+\(\s*(\w+)((?:\.\w+|\[-?\d+\])+)\.parameters\(\)"
_FROZEN = r"requires_grad_\(False\)|requires_grad = False"


def find(facts: Facts) -> list[Finding]:
    """``Adam(model.head.parameters())`` where nodes of the rest of the model run."""
    columns = facts.log.columns
    nodes = columns.rows_of(Kind.NODE)
    outer = nodes[columns.parent[nodes] < 0]
    share = facts.share_of((columns.end[outer] - columns.begin[outer]).sum() / 1e9)
    if not len(nodes) or any(True for _ in facts.matching(_FROZEN)):
        return []
    for file, number, text in facts.matching(_PART):
        part = re.search(_PART, text)
        assert part is not None
        whole, inner = part[1], part[2]
        indent = indent_of(file, number)
        frozen = (
            f"{indent}{whole}.requires_grad_(False)",
            f"{indent}{whole}{inner}.requires_grad_(True)",
        )
        return [
            Finding.at(
                file,
                number,
                kind="waste",
                evidence=f"{share:.0%} of the time is backward; the optimizer has the "
                f"parameters of {whole}{inner} alone",
                fix=f"requires_grad_(False) for {whole} but its {inner.lstrip('.')}",
                share=max(share * 0.5, 0.06),
                patch=Patch(file, ((number, number - 1, frozen),)),
            )
        ]
    return []

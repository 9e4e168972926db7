"""An inverse that is only multiplied: solving costs a third and is more accurate."""

from __future__ import annotations

from pellucid.diagnose.edits import replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_PATTERN = r"torch\.(?:linalg\.inv|inverse)\((\w+)\) @ (\w+)"


def find(facts: Facts) -> list[Finding]:
    """Lines with an inverse and a product."""
    findings = []
    for entry in facts.lines.values():
        share = facts.share_of(entry.total)
        line = entry.line
        patch = replaced(
            line.file, line.number, _PATTERN, r"torch.linalg.solve(\1, \2)"
        )
        if share < 0.1 or patch is None:
            continue
        findings.append(
            Finding.at(
                line.file,
                line.number,
                kind="compute",
                evidence=f"{share:.0%} of the time: an inverse that is only multiplied",
                fix="torch.linalg.solve",
                share=share,
                patch=patch,
            )
        )
    return findings

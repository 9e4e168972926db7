"""Tensors that a loop formats as text."""

from __future__ import annotations

from pellucid.diagnose.edits import every_tenth
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SHARE, _COUNT = 0.1, 10


def find(facts: Facts) -> list[Finding]:
    """Lines that format tensors repeatedly: for a log, or as a key."""
    findings = []
    for (file, number), (seconds, count) in facts.ranges("Tensor.__repr__").items():
        share = facts.share_of(seconds)
        if share < _SHARE or count < _COUNT:
            continue
        findings.append(
            Finding.at(
                file,
                number,
                kind="overhead",
                evidence=f"{share:.0%} of the time formats tensors as text, {count} "
                "of them",
                fix="log a number (a norm, a mean), and only every tenth iteration",
                share=share,
                patch=every_tenth(file, number),
            )
        )
    return findings

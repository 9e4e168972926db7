"""Tensors that a loop formats as text."""

from __future__ import annotations

from pellucid.diagnose.edits import every_tenth
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_COUNT = 10


def find(facts: Facts) -> list[Finding]:
    """Lines that format tensors repeatedly: for a log, or as a key."""
    findings = []
    for file, number, share, count in facts.repeated("Tensor.__repr__", _COUNT):
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

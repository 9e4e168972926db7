"""Checkpoints that a loop writes synchronously."""

from __future__ import annotations

from pellucid.diagnose.edits import every_tenth
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_COUNT = 3


def find(facts: Facts) -> list[Finding]:
    """Lines that write files repeatedly."""
    findings = []
    for file, number, share, count in facts.repeated("torch.save", _COUNT):
        findings.append(
            Finding.at(
                file,
                number,
                kind="wait",
                evidence=f"{share:.0%} of the time: {count} files are written, and the "
                "loop waits for each",
                fix="save every tenth step, or a copy of the state in another thread",
                share=share,
                patch=every_tenth(file, number),
            )
        )
    return findings

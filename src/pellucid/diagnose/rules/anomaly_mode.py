"""Anomaly mode left on: gradients are searched for NaN, calls keep a trace."""

from __future__ import annotations

from pellucid.diagnose.edits import replaced_anywhere
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """The line that switched it on."""
    if not facts.settings.get("anomaly"):
        return []
    for file, number, _ in facts.matching(r"(set_detect_anomaly|detect_anomaly)\("):
        patch = replaced_anywhere(
            file, r"set_detect_anomaly\(True", "set_detect_anomaly(False"
        )
        return [
            Finding.at(
                file,
                number,
                kind="overhead",
                evidence="anomaly mode is on: each gradient is checked for NaN",
                fix="switch it on only while you look for a NaN",
                share=max(facts.shares.get("overhead", 0.0), 0.1),
                patch=patch,
            )
        ]
    return []

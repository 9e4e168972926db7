"""Anomaly mode left on: gradients are checked for NaN, calls store a stack trace."""

from __future__ import annotations

from pellucid.diagnose.edits import replaced_anywhere
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

_ON = r"\bset_detect_anomaly\(True[^)]*\)|\bdetect_anomaly\([^)]*\)"


def find(facts: Facts) -> list[Finding]:
    """The line that enabled it."""
    marks = (e.name == "anomaly mode" for e in facts.log.events_of(Kind.RANGE))
    if not facts.settings.get("anomaly") and not any(marks):
        return []
    for file, number, _ in facts.matching(r"\b(set_)?detect_anomaly\("):
        patch = replaced_anywhere(file, _ON, "set_detect_anomaly(False)")
        return [
            Finding.at(
                file,
                number,
                kind="overhead",
                evidence="anomaly mode is on: each gradient is checked for NaN",
                fix="enable it only while you look for a NaN",
                share=max(facts.shares.get("overhead", 0.0), 0.1),
                patch=patch,
            )
        ]
    return []

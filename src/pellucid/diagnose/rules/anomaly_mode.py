"""Anomaly mode left on: gradients are searched for NaN, calls keep a trace."""

from __future__ import annotations

import linecache
import re

from pellucid.diagnose.edits import replaced_anywhere
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_PATTERN = r"(set_detect_anomaly|detect_anomaly)\((True)?"


def find(facts: Facts) -> list[Finding]:
    """The line that switched it on."""
    if not facts.settings.get("anomaly"):
        return []
    for file in dict.fromkeys(file for file, _ in facts.lines):
        patch = replaced_anywhere(
            file, r"set_detect_anomaly\(True", "set_detect_anomaly(False"
        )
        for number, text in enumerate(linecache.getlines(file), 1):
            if re.search(_PATTERN, text):
                return [
                    Finding(
                        kind="overhead",
                        file=file,
                        line=number,
                        text=text.strip(),
                        evidence="anomaly mode is on: each gradient is checked for NaN",
                        fix="switch it on only while you look for a NaN",
                        share=max(facts.shares.get("overhead", 0.0), 0.1),
                        patch=patch,
                    )
                ]
    return []

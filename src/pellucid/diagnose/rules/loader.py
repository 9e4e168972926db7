"""The loader dominates: it loads one sample at a time, in the training process."""

from __future__ import annotations

from pellucid.diagnose.edits import replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """The line that makes the loader."""
    share = facts.data_share / max(1 - facts.shares.get("away", 0.0), 1e-9)
    if share < 0.25:
        return []
    for file, number, text in facts.matching(r"\bDataLoader\("):
        if "class " in text:
            continue
        patch = None
        if "num_workers" not in text:
            patch = replaced(file, number, r"\)(\s*:?\s*)$", r", num_workers=2)\1")
        return [
            Finding.at(
                file,
                number,
                kind="data",
                evidence=f"{share:.0%} of the time is the loader's, here",
                fix="num_workers=2: load while the step runs",
                share=share,
                patch=patch,
            )
        ]
    return []

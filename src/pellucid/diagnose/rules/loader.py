"""The loader takes the time: one sample at a time, in the training process."""

from __future__ import annotations

import linecache
import re

from pellucid.diagnose.edits import replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """The line that makes the loader."""
    own = {name: share for name, share in facts.shares.items() if name != "away"}
    share = facts.data_share / max(sum(own.values()), 1e-9)
    if share < 0.25:
        return []
    files = dict.fromkeys(
        [*facts.settings.get("files", ()), *(f for f, _ in facts.lines)]
    )
    for file in files:
        for number, text in enumerate(linecache.getlines(file), 1):
            if not re.search(r"\bDataLoader\(", text) or "class " in text:
                continue
            patch = None
            if "num_workers" not in text:
                patch = replaced(file, number, r"\)(\s*:?\s*)$", r", num_workers=2)\1")
            return [
                Finding(
                    kind="data",
                    file=file,
                    line=number,
                    text=text.strip(),
                    evidence=f"{share:.0%} of the time is the loader's, here",
                    fix="num_workers=2: load while the step runs",
                    share=share,
                    patch=patch,
                )
            ]
    return []

"""Cores that the program may use and does not."""

from __future__ import annotations

import linecache
import os
import re

from pellucid.diagnose.edits import replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """The line that limits the threads."""
    cores = len(os.sched_getaffinity(0))
    used = facts.settings.get("threads", cores)
    own = {name: share for name, share in facts.shares.items() if name != "away"}
    busy = own.get("compute", 0.0) + own.get("bandwidth", 0.0)
    busy /= max(sum(own.values()), 1e-9)
    if used >= cores or busy < 0.4:
        return []
    for file in dict.fromkeys(
        [*facts.settings.get("files", ()), *(f for f, _ in facts.lines)]
    ):
        for number, text in enumerate(linecache.getlines(file), 1):
            if re.search(r"set_num_threads\(\d+\)", text):
                return [
                    Finding(
                        kind="compute",
                        file=file,
                        line=number,
                        text=text.strip(),
                        evidence=f"{busy:.0%} of the time is arithmetic on {used} of "
                        f"{cores} cores",
                        fix=f"set_num_threads({cores})",
                        share=busy * (1 - used / cores),
                        patch=replaced(
                            file,
                            number,
                            r"set_num_threads\(\d+\)",
                            f"set_num_threads({cores})",
                        ),
                    )
                ]
    return []

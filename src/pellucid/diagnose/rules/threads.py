"""Cores that the program could use but does not."""

from __future__ import annotations

import os

from pellucid.diagnose.edits import replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_CALL = r"set_num_threads\(\d+\)"


def find(facts: Facts) -> list[Finding]:
    """The line that limits the threads."""
    cores = len(os.sched_getaffinity(0))
    used = facts.settings.get("threads", cores)
    busy = facts.own_share("compute", "bandwidth")
    if used >= cores or busy < 0.4:
        return []
    for file, number, _ in facts.matching(_CALL):
        return [
            Finding.at(
                file,
                number,
                kind="compute",
                evidence=f"{busy:.0%} of the time is arithmetic on {used} of {cores} "
                "cores",
                fix=f"set_num_threads({cores})",
                share=busy * (1 - used / cores),
                patch=replaced(file, number, _CALL, f"set_num_threads({cores})"),
            )
        ]
    return []

"""A rank that waits for the others, and gradients that nothing overlaps."""

from __future__ import annotations

from collections import defaultdict

from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

WAIT, BUCKETS = "distributed::wait", "DistributedDataParallel.wait"
_FIXES = {
    WAIT: "give every rank as much work, or ask for async_op=True and wait later",
    BUCKETS: "fewer, longer steps: gradient accumulation under no_sync(), or smaller "
    "buckets (bucket_cap_mb) that leave earlier",
}


def find(facts: Facts) -> list[Finding]:
    """The lines whose collectives are waited for, where that is a fifth of the time."""
    seconds: dict[tuple[str, str, int], float] = defaultdict(float)
    counts: dict[tuple[str, str, int], int] = defaultdict(int)
    for event in facts.log.events_of(Kind.RANGE):
        is_inner = event.parent is not None and event.parent.name == BUCKETS
        if event.name not in _FIXES or is_inner:
            continue
        line = facts.log.user_line(event.line)
        if line is not None:
            place = event.name, line.file, line.number
            seconds[place] += event.duration / 1e9
            counts[place] += 1
    found = []
    for (name, file, number), waited in seconds.items():
        share = facts.share_of(waited)
        if share < 0.2:
            continue
        what = "gradients that backward did not hide" if name == BUCKETS else "ranks"
        found.append(
            Finding.at(
                file,
                number,
                kind="wait",
                evidence=f"{share:.0%} of the time this rank waits for {what}, "
                f"{counts[name, file, number]} times",
                fix=_FIXES[name],
                share=share,
            )
        )
    return found

"""A rank that waits for the others, and gradients that nothing overlaps."""

from __future__ import annotations

from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

WAIT, BUCKETS = "distributed::wait", "DistributedDataParallel.wait"
_SHARE = 0.2
_FIXES = {
    WAIT: "give every rank as much work, or ask for async_op=True and wait later",
    BUCKETS: "fewer, longer steps: gradient accumulation under no_sync(), or smaller "
    "buckets (bucket_cap_mb) that leave earlier",
}


def find(facts: Facts) -> list[Finding]:
    """The lines whose collectives are waited for, where that is a fifth of the time."""
    buckets = facts.ranges(BUCKETS)
    waits = facts.ranges(WAIT)  # those within a bucket's wait are at its line
    places = {WAIT: {k: v for k, v in waits.items() if k not in buckets}}
    places[BUCKETS] = buckets
    found = []
    for name, lines in places.items():
        what = "gradients that backward did not hide" if name == BUCKETS else "ranks"
        for (file, number), (seconds, count) in lines.items():
            share = facts.share_of(seconds)
            if share < _SHARE:
                continue
            found.append(
                Finding.at(
                    file,
                    number,
                    kind="wait",
                    evidence=f"{share:.0%} of the time this rank waits for {what}, "
                    f"{count} times",
                    fix=_FIXES[name],
                    share=share,
                )
            )
    return found

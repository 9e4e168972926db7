"""A rank that waits for the others, and gradient reductions without overlap."""

from __future__ import annotations

from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.storages import BUCKETS

WAIT = "distributed::wait"
_SHARE = 0.2
_FIXES = {
    WAIT: "give every rank equal work, or pass async_op=True and wait later",
    BUCKETS: "fewer, longer steps: gradient accumulation under no_sync(), or smaller "
    "buckets (bucket_cap_mb), which are sent earlier",
}


def find(facts: Facts) -> list[Finding]:
    """The lines with waits for collectives, if these take a fifth of the time."""
    buckets = facts.ranges(BUCKETS)
    waits = facts.ranges(WAIT)  # waits within a bucket's wait belong to its line
    places = {WAIT: {k: v for k, v in waits.items() if k not in buckets}}
    places[BUCKETS] = buckets
    findings = []
    for name, lines in places.items():
        awaited = "gradients that backward did not hide" if name == BUCKETS else "ranks"
        for (file, number), (seconds, count) in lines.items():
            share = facts.share_of(seconds)
            if share < _SHARE:
                continue
            findings.append(
                Finding.at(
                    file,
                    number,
                    kind="wait",
                    evidence=f"{share:.0%} of the time this rank waits for {awaited}, "
                    f"{count} times",
                    fix=_FIXES[name],
                    share=share,
                )
            )
    return findings

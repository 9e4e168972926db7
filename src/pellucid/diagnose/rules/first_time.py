"""Calls that are traced or compiled again because their static facts change."""

from __future__ import annotations

from collections import Counter

from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind


def find(facts: Facts) -> list[Finding]:
    """The line with most of this work, if it is repeated."""
    share = facts.shares.get("first-time", 0.0)
    counts: Counter[tuple[str, int]] = Counter()
    for event in facts.log.events_of(Kind.PREPARE):
        line = facts.log.user_line(event.line)
        if line is not None:
            counts[line.file, line.number] += 1
    if share < 0.3 or not counts:
        return []
    (place, count) = counts.most_common(1)[0]
    if count < 8 or count < 0.3 * facts.lines[place].calls:
        return []  # needed once, by a first call
    line = facts.lines[place].line
    return [
        Finding.at(
            line.file,
            line.number,
            kind="first-time",
            evidence=f"{share:.0%} of the time prepares calls, {count} at this line",
            fix="call with the same ranks, dtypes and static arguments",
            share=share,
        )
    ]

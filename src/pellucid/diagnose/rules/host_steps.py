"""Steps on a device that the CPU ran because the backend lacks a kernel."""

from __future__ import annotations

from collections import Counter, defaultdict

from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

PREFIX = "host: "  # of ranges of such steps (devices/launching.py)


def find(facts: Facts) -> list[Finding]:
    """The line with most of these steps."""
    counts: Counter[tuple[str, int]] = Counter()
    names: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for event in facts.log.events_of(Kind.RANGE):
        if event.name.startswith(PREFIX):
            line = facts.log.user_line(event.line)
            if line is not None:
                counts[line.file, line.number] += 1
                names[line.file, line.number][event.name.removeprefix(PREFIX)] += 1
    if not counts:
        return []
    (file, number), count = counts.most_common(1)[0]
    share = facts.share_of(facts.lines[file, number].total)
    if share < 0.05:
        return []
    steps = ", ".join(f"{name} {n}x" for name, n in names[file, number].most_common(2))
    return [
        Finding.at(
            file,
            number,
            kind="copy",
            evidence=f"{counts.total()} steps ran on the CPU, {count} here: {steps}",
            fix="a kernel for it in the backend, or ops that the backend has",
            share=share,
        )
    ]

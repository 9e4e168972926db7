"""The program waits: asleep, for a file, for another process."""

from __future__ import annotations

from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """The line before whose call Python spent most time."""
    share = facts.shares.get("wait", 0.0)
    for name in ("torch.save", "torch.load", "Tensor.__repr__"):  # of other rules
        waits = facts.ranges(name).values()
        share -= sum(seconds for seconds, _ in waits) / facts.wall
    if share < 0.25 or facts.data_share > share / 2:
        return []
    waited = max(
        facts.lines.values(), key=lambda e: e.seconds.get("python", 0.0), default=None
    )
    if waited is None:
        return []
    line = waited.line
    return [
        Finding.at(
            line.file,
            line.number,
            kind="wait",
            evidence=f"{share:.0%} of the time the thread is asleep, most of it before "
            "this line",
            fix="wait elsewhere: another thread, or before the loop",
            share=share,
        )
    ]

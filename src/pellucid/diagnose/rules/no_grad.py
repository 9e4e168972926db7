"""Forward passes that record gradients which nothing computes."""

from __future__ import annotations

from pellucid.diagnose.edits import enclosing, is_loop, wrapped
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind


def find(facts: Facts) -> list[Finding]:
    """The loop whose calls record nodes, in a program without backward passes."""
    events = facts.log.events
    if any(event.kind is Kind.NODE for event in events):
        return []
    calls = [event for event in events if event.kind is Kind.CALL]
    numbers = [event.sequence for event in calls if event.sequence >= 0]
    recorded = max(numbers, default=0) - min(numbers, default=0)
    if recorded < 10 or recorded < 0.2 * len(calls):
        return []
    candidates = sorted(facts.lines.values(), key=lambda item: -item.calls)
    for item in candidates:
        loops = enclosing(item.line.file, item.line.number, is_loop)
        if loops:
            line = item.line
            return [
                Finding.at(
                    line.file,
                    line.number,
                    kind="waste",
                    evidence=f"{recorded} nodes are recorded, no backward pass runs",
                    fix="with torch.no_grad(): around the loop",
                    share=max(facts.shares.get("overhead", 0.0) * 0.5, 0.06),
                    patch=wrapped(line.file, loops[0], "with torch.no_grad():"),
                )
            ]
    return []

"""A value read inside of a compiled function, which splits what could be one kernel."""

from __future__ import annotations

import re

from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_READ, _CALLS = "a recorded value is read", 10
_PLACE = re.compile(r"(.*):(\d+) in ")


def find(facts: Facts) -> list[Finding]:
    """Lines that read a value in the first call of a region that is called often."""
    findings = []
    for compilation in facts.settings.get("compilations", ()):
        events = compilation.events() or []
        ops = sum(event.kind == "recorded" for event in events)
        reads = [e for e in events if e.kind == "flushed" and e.reason == _READ]
        for event in reads if compilation.calls >= _CALLS else ():
            place = _PLACE.match(event.place)
            if place is None:
                continue
            file, number = place[1], int(place[2])
            entries = [e for (f, _), e in facts.lines.items() if f == file]
            share = facts.share_of(sum(entry.total for entry in entries))
            if share < 0.1:
                continue
            findings.append(
                Finding.at(
                    file,
                    number,
                    kind="overhead",
                    evidence=f"a break in {compilation.name}, run {compilation.calls} "
                    f"times: {event.number} of {ops} ops run before a value is read",
                    fix="decide in tensors (torch.where), or read the value outside",
                    share=share,
                )
            )
    return findings

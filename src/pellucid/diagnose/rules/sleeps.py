"""The program waits: asleep, for a file, for another process."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import enclosing, is_loop
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.sleeping import SLEEP
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """The line that slept longest, if sleeping is most of the waiting; else that before
    whose call Python spent most time.
    """
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
    slept = facts.ranges(SLEEP)
    is_own = sum(s for s, _ in slept.values()) > share / 2 * facts.wall
    places = sorted(slept, key=lambda place: -slept[place][0]) if is_own else []
    file, number = (places or [(line.file, line.number)])[0]
    is_polling = bool(places) and _is_polling(file, number)
    return [
        Finding.at(
            file,
            number,
            kind="wait",
            evidence=f"{share:.0%} of the time the thread is asleep"
            + (", by its own calls" if places else ", most of it before this line"),
            fix="block until it is there (result(), get(), wait()), with several "
            "requests in flight, instead of polling"
            if is_polling
            else "wait elsewhere: another thread, or before the loop",
            share=share,
        )
    ]


def _is_polling(file: str, number: int) -> bool:
    """Whether a line is in a loop that runs until something is so."""
    loops = enclosing(file, number, is_loop)
    return bool(loops) and isinstance(loops[-1], ast.While)

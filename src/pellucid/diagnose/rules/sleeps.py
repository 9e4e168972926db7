"""The program waits: asleep, for a file, for another process."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import enclosing, is_loop
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SLEEP = r"^[^#]*\bsleep\("


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
    places = [(file, number) for file, number, _ in facts.matching(_SLEEP)]
    polling = [place for place in places if _is_polling(*place)]
    places = polling or places
    file, number = (places or [(line.file, line.number)])[0]
    return [
        Finding.at(
            file,
            number,
            kind="wait",
            evidence=f"{share:.0%} of the time the thread is asleep"
            + (", by its own calls" if places else ", most of it before this line"),
            fix="block until it is there (result(), get(), wait()), with several "
            "requests in flight, instead of polling"
            if polling
            else "wait elsewhere: another thread, or before the loop",
            share=share,
        )
    ]


def _is_polling(file: str, number: int) -> bool:
    """Whether a line is in a loop that runs until something is so."""
    loops = enclosing(file, number, is_loop)
    return bool(loops) and isinstance(loops[-1], ast.While)

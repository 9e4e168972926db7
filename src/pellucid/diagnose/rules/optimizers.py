"""Optimizers that are made again in every step, or that update one parameter at a time
because the program says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from pellucid.diagnose.edits import replaced, statement_at
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.storages import OPTIMIZER

_MADE, _PART = 4, 0.8  # optimizers of a line, and of the steps
_SHARE = 0.1
_ONE_BY_ONE = r",\s*(foreach|fused)\s*=\s*False(?=\s*[,)])"


def find(facts: Facts) -> list[Finding]:
    """The lines that make optimizers."""
    return [*_remade(facts), *_one_by_one(facts)]


def _remade(facts: Facts) -> Iterator[Finding]:
    steps = sum(count for _, count in facts.ranges(OPTIMIZER).values())
    for (file, line), made in facts.settings["optimizers"].items():
        if made < max(_MADE, _PART * steps):
            continue
        statement = statement_at(file, line)
        part = facts.samples.part(file, statement) if statement is not None else 0.0
        yield Finding.at(
            file,
            line,
            kind="waste",
            evidence=f"{made} optimizers are made here, for {steps} steps: what one "
            "keeps between steps (momentum, averages, a schedule) is lost",
            fix="make it once, before the loop, or in __init__",
            share=part,
            is_certain=True,
        )


def _one_by_one(facts: Facts) -> Iterator[Finding]:
    share = facts.share_of(sum(took for took, _ in facts.ranges(OPTIMIZER).values()))
    for file, line, text in facts.matching(_ONE_BY_ONE) if share >= _SHARE else ():
        if text.lstrip().startswith("#"):
            continue
        yield Finding.at(
            file,
            line,
            kind="overhead",
            evidence=f"{share:.0%} of the time updates parameters one by one, as it is "
            "asked to here",
            fix="leave foreach=False and fused=False out: one call updates all",
            share=share,
            patch=replaced(file, line, _ONE_BY_ONE, ""),
        )

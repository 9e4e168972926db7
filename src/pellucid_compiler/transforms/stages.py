"""The stages of a shared op that combines values inside: runs of its steps, between
which the processes talk.

Steps of a stage are all shared or all replicated, so that the gradient of a replicated
operand of a shared stage is a part of a sum, and that of a replicated stage the whole.
Called by specialise/staged.py, which makes each stage an op. Read first: shard.py.
"""

from __future__ import annotations

from typing import NamedTuple

from pellucid_compiler.transforms.shard import Flat, Plan


class Stage(NamedTuple):
    """Steps by their place, the values that they read and give, by number, and those
    that are combined before they run.
    """

    steps: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    joins: tuple[int, ...]
    is_shared: bool


class _Run(NamedTuple):
    steps: list[int]
    joins: list[int]
    is_shared: bool

    def made(self, flat: Flat) -> set[int]:
        return {n for k in self.steps for n in flat.steps[k].outputs}

    def read(self, flat: Flat) -> set[int]:
        return {n for k in self.steps for n in flat.steps[k].inputs}


def stages_of(flat: Flat, plan: Plan) -> list[Stage]:
    """The stages, in order."""
    runs = _merged(flat, _runs(flat, plan))
    stages = []
    for place, run in enumerate(runs):
        made, read = run.made(flat), run.read(flat)
        others = [other for k, other in enumerate(runs) if k != place]
        later = set(flat.outputs).union(*(other.read(flat) for other in others))
        stages.append(
            Stage(
                tuple(run.steps),
                tuple(sorted(read - made)),
                tuple(sorted(made & later)),
                tuple(run.joins),
                run.is_shared,
            )
        )
    return stages


def _runs(flat: Flat, plan: Plan) -> list[_Run]:
    """Steps in order, cut where values are combined or the kind of work changes."""
    runs: list[_Run] = []
    for place, strategy in enumerate(plan.chosen):
        joins = [number for step, number in plan.joins if step == place]
        is_new = not runs or runs[-1].is_shared != strategy.is_shared
        if is_new or not runs[-1].made(flat).isdisjoint(joins):
            runs.append(_Run([], [], strategy.is_shared))
        runs[-1].steps.append(place)
        runs[-1].joins.extend(joins)
    return runs


def _merged(flat: Flat, runs: list[_Run]) -> list[_Run]:
    """Replicated steps that only the shared ones behind them read run with those: what
    comes of them is shared.
    """
    merged: list[_Run] = []
    for place, run in enumerate(runs):
        before = merged[-1] if merged else None
        if before is not None and run.is_shared and not before.is_shared:
            rest = [*runs[: place - 1], *runs[place + 1 :]]
            outside = set(flat.outputs).union(*(other.read(flat) for other in rest))
            if before.made(flat).isdisjoint(outside):
                steps, joins = before.steps + run.steps, before.joins + run.joins
                merged[-1] = _Run(steps, joins, True)
                continue
        merged.append(run)
    return merged

"""The stages of a sharded op that combines values inside: runs of its steps, between
which the processes communicate.

The steps of a stage are all sharded or all replicated, so that the gradient of a
replicated operand is a partial sum in a sharded stage, and complete in a replicated
one. Called by specialise/staged.py, which makes each stage an op. Read first: shard.py.
"""

from __future__ import annotations

from typing import NamedTuple

from pellucid_compiler.transforms.flat_graph import FlatGraph
from pellucid_compiler.transforms.shard import Plan


class Stage(NamedTuple):
    """Steps by their index, the numbers of the values that they read and compute, and
    the values that are combined before they run.
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

    def made(self, flat: FlatGraph) -> set[int]:
        return {n for k in self.steps for n in flat.steps[k].outputs}

    def read(self, flat: FlatGraph) -> set[int]:
        return {n for k in self.steps for n in flat.steps[k].inputs}

    def touched(self, flat: FlatGraph) -> set[int]:
        """What is read or computed before it may be combined."""
        return self.made(flat) | self.read(flat)


def stages_of(flat: FlatGraph, plan: Plan) -> list[Stage]:
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


def _runs(flat: FlatGraph, plan: Plan) -> list[_Run]:
    """Steps in order, split where values are combined or the kind of work changes."""
    runs: list[_Run] = []
    for place, strategy in enumerate(plan.chosen):
        joins = [number for step, number in plan.joins if step == place]
        is_new = not runs or runs[-1].is_shared != strategy.is_shared
        if is_new or not runs[-1].touched(flat).isdisjoint(joins):
            runs.append(_Run([], [], strategy.is_shared))
        runs[-1].steps.append(place)
        runs[-1].joins.extend(joins)
    return runs


def _merged(flat: FlatGraph, runs: list[_Run]) -> list[_Run]:
    """Merge replicated steps that only later sharded ones read into those: their
    results are then sharded.
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

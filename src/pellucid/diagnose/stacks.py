"""Inclusive times: what a program's statements took with everything that they called.

Every event has a chain of frames. `Stacks` sums the time of equal chains once, so that
rules can ask for a loop, a function or a statement of the source.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.log import Kind, Log
from pellucid.profiler._timeline.shares import Shares

Place = tuple[str, int]


@dataclass
class Inside:
    """The work inside of some lines: seconds by category, calls and nodes made, and of
    the nodes those that no backward pass ran.
    """

    seconds: dict[str, float]
    calls: int
    nodes: int
    unrun: int

    @property
    def total(self) -> float:
        """Seconds without those of what is needed once."""
        return sum(s for name, s in self.seconds.items() if name != "first-time")

    def part(self, *categories: str) -> float:
        """The part of the time in these categories."""
        own = sum(self.seconds.get(name, 0.0) for name in categories)
        return own / max(self.total, 1e-12)


class Stacks:
    """Of each chain of frames, a place in all lists: ``frames``: the program's, the
    innermost first; ``seconds`` by category, ``calls``, ``nodes`` made and ``unrun``.
    """

    def __init__(
        self, log: Log, pieces: Shares, category: Array, names: Sequence[str]
    ) -> None:
        is_event = pieces.rows >= 0
        rows, width = pieces.rows[is_event], len(names)
        values, chain = np.unique(log.columns.line[rows], return_inverse=True)
        cells = chain * width + category[is_event]
        seconds = pieces.nanoseconds[is_event] / 1e9
        sums = np.bincount(cells, seconds, len(values) * width)
        is_call = ~pieces.is_python[is_event] & (log.columns.kind[rows] == Kind.CALL)
        self.names = tuple(names)
        self.seconds = sums.reshape(len(values), width)
        self.calls = np.bincount(chain[is_call], minlength=len(values))
        self.frames: list[tuple[Place, ...]] = [
            tuple((f.file, f.number) for f in log.frames(value) if f.is_user)
            for value in values.tolist()
        ]
        self.chains = values  # their numbers in the log
        calls = log.columns.rows_of(Kind.CALL)
        outermost = calls[log.columns.parent[calls] < 0]
        made, own, run = nodes_made(log, outermost)
        places = np.searchsorted(values, log.columns.line[made])
        places = np.minimum(places, max(len(values) - 1, 0))
        self.nodes = np.bincount(places, own, len(values))
        self.unrun = np.bincount(places, own - run, len(values))

    def of(self, chains: Sequence[int]) -> Inside:
        """The sums over some chains."""
        own = list(chains)
        totals = self.seconds[own].sum(axis=0).tolist()
        seconds = {n: s for n, s in zip(self.names, totals, strict=True) if s}
        counts = (int(a[own].sum()) for a in (self.calls, self.nodes, self.unrun))
        return Inside(seconds, *counts)

    def chains_within(self, file: str, node: ast.AST) -> list[int]:
        """The chains with a frame inside of a node of a file's syntax tree."""
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return [
            chain
            for chain, frames in enumerate(self.frames)
            if any(name == file and first <= n <= last for name, n in frames)
        ]

    def passes(self, file: str, node: ast.AST, places: Collection[Place]) -> bool:
        """Whether one of some lines runs within a node."""
        chains = self.chains_within(file, node) if places else []
        return any(set(places).intersection(self.frames[chain]) for chain in chains)

    def within(self, file: str, node: ast.AST) -> Inside:
        """The work inside of a node of a file's syntax tree."""
        return self.of(self.chains_within(file, node))


def nodes_made(log: Log, calls: Array) -> tuple[Array, Array, Array]:
    """The rows of those of some calls, in the order of the log, that made nodes of a
    graph, how many each made until the next one, and how many of these a backward pass
    ran.
    """
    columns = log.columns
    calls = calls[columns.sequence[calls] >= 0]
    nodes = columns.rows_of(Kind.NODE)
    run = np.unique(columns.sequence[nodes[columns.sequence[nodes] >= 0]])
    before = columns.sequence[calls].astype(np.int64)
    after = np.append(before[1:], before[-1:])
    made = np.maximum(after - before, 0)
    upto = np.searchsorted(run, np.stack([before, before + made]), side="right")
    is_maker = made > 0
    return calls[is_maker], made[is_maker], (upto[1] - upto[0])[is_maker]

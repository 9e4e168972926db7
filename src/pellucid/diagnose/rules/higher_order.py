"""Backward passes that record a graph of their own, which no other backward pass runs:
``create_graph=True`` where only the gradients are needed.

The recording shows that none was run, the source that none can be in another run.
``create_graph`` also keeps the graph of the pass itself: where a second pass goes
through that, ``retain_graph`` takes its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from pellucid.diagnose.edits import replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.flow import is_differentiated
from pellucid.diagnose.stacks import nodes_made
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.columns import Array
from pellucid.profiler._timeline.log import Kind

_SHARE, _NODES = 0.1, 10


def find(facts: Facts) -> list[Finding]:
    """Calls with ``create_graph=True`` of whose nodes none was run."""
    rows, made, run = _of_backward(facts)
    findings = []
    for file in facts.files:
        for call, keyword in _calls(file):
            chains = facts.stacks.chains_within(file, call)
            values = facts.stacks.chains[chains]
            is_own = np.isin(facts.log.columns.line[rows], values)
            nodes, used = int(made[is_own].sum()), int(run[is_own].sum())
            share = facts.share_of(facts.stacks.of(chains).total)
            if nodes < _NODES or used or share < _SHARE:
                continue
            if is_differentiated([t for t in map(tree_of, facts.files) if t], call):
                continue
            is_retained = _runs_again(facts, values)
            findings.append(
                Finding.at(
                    file,
                    call.lineno,
                    kind="waste",
                    evidence=f"{share:.0%} of the time: backward passes record {nodes} "
                    "nodes for derivatives of the gradients, and none is run",
                    fix="retain_graph=True instead, for the second pass: the gradients "
                    "need no graph"
                    if is_retained
                    else "leave create_graph out: the gradients need no graph",
                    share=share,
                    part=0.5,
                    patch=_patch(file, call, keyword, is_retained),
                    keeps_output=True,
                )
            )
    return findings


def _of_backward(facts: Facts) -> tuple[Array, Array, Array]:
    """The calls inside of backward passes that made nodes, how many each made and how
    many of these were run.
    """
    columns = facts.log.columns
    calls, made, run = nodes_made(facts.log, columns.rows_of(Kind.CALL))
    inside = columns.nearest(columns.parent[calls], columns.kind == Kind.NODE) >= 0
    return calls[inside], made[inside], run[inside]


def _calls(file: str) -> Iterator[tuple[ast.Call, ast.keyword]]:
    tree = tree_of(file)
    for node in ast.walk(tree) if tree else ():
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            is_on = isinstance(keyword.value, ast.Constant) and keyword.value.value
            if keyword.arg == "create_graph" and is_on:
                yield node, keyword  # type: ignore[misc]


def _runs_again(facts: Facts, chains: Array) -> bool:
    """Whether other passes run nodes that those of some chains of frames run."""
    columns = facts.log.columns
    nodes = columns.rows_of(Kind.NODE)
    nodes = nodes[columns.sequence[nodes] >= 0]
    numbers, counts = np.unique(columns.sequence[nodes], return_counts=True)
    own = columns.sequence[nodes[np.isin(columns.line[nodes], chains)]]
    return bool(np.isin(own, numbers[counts > 1]).any())


def _patch(
    file: str, call: ast.Call, keyword: ast.keyword, is_retained: bool
) -> Patch | None:
    is_said = any(other.arg == "retain_graph" for other in call.keywords)
    if is_retained and not is_said:
        return replaced_nodes(file, [(keyword, "retain_graph=True")])
    return replaced_nodes(file, [(keyword.value, "False")])

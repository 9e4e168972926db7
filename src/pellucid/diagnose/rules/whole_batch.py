"""A forward pass over a whole batch in each round of a loop that reads a part of its
result: accumulation of gradients that computes all micro-batches for each of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.rules.hoist import changed_names, trains
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.1, 3


def find(facts: Facts) -> list[Finding]:
    """Assignments in loops whose inputs stay the same, and of whose results a round
    reads the rows that belong to it.
    """
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        for loop in ast.walk(tree) if tree else ():
            if not isinstance(loop, ast.For) or trains(loop):
                continue
            for statement, reads in _read_in_part(loop):
                share, calls = _inside(facts, file, statement)
                if share >= _SHARE and calls >= _CALLS:
                    findings.append(_finding(file, share, loop, statement, reads))
    return findings


def _read_in_part(loop: ast.For) -> Iterator[tuple[ast.Assign, list[ast.Subscript]]]:
    """A loop's assignments of calls whose inputs it does not change, with what reads
    the results: items at places that differ from round to round.
    """
    for statement in loop.body:
        if not isinstance(statement, ast.Assign):
            continue
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
            continue
        bound = changed_names(loop, statement)
        inputs = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        if not value.args or bound & {*inputs, target.id}:
            continue
        nodes = [n for own in loop.body for n in ast.walk(own)]
        reads = [
            node
            for node in nodes
            if isinstance(node, ast.Subscript)
            and ast.unparse(node.value) == target.id
            and bound & {n.id for n in ast.walk(node.slice) if isinstance(n, ast.Name)}
        ]
        loads = [n for n in nodes if isinstance(n, ast.Name) and n.id == target.id]
        if reads and len(loads) == len(reads) + 1:  # and where it is assigned
            yield statement, reads


def _inside(facts: Facts, file: str, statement: ast.Assign) -> tuple[float, int]:
    """The share of a statement with what it calls and the backward pass of these lines,
    and the number of its calls.
    """
    chains = facts.stacks.chains_within(file, statement)
    lines = {facts.stacks.frames[chain][0] for chain in chains}
    behind = sum(facts.backward.get(line, 0.0) for line in lines)
    inside = facts.stacks.of(chains)
    return facts.share_of(inside.total + behind), inside.calls


def _finding(
    file: str,
    share: float,
    loop: ast.For,
    statement: ast.Assign,
    reads: list[ast.Subscript],
) -> Finding:
    call, read = ast.unparse(statement.value), ast.unparse(reads[0])
    return Finding.at(
        file,
        statement.lineno,
        kind="waste",
        evidence=f"{share:.0%} of the time: each round computes all of {call} again "
        f"and reads {read}",
        fix="give it only the rows that the round reads; or call it once, before",
        share=share,
        patch=_patch(file, loop, statement, reads),
    )


def _patch(
    file: str, loop: ast.For, statement: ast.Assign, reads: list[ast.Subscript]
) -> Patch | None:
    """The rows are selected before the call; None where they are known after it, or
    where the call has other inputs.
    """
    call = statement.value
    assert isinstance(call, ast.Call)
    places = {ast.unparse(read.slice) for read in reads}
    if len(places) != 1 or len(call.args) != 1 or call.keywords:
        return None
    before = [loop.target, *(s for s in loop.body if s.lineno < statement.lineno)]
    names = [n for s in before for n in ast.walk(s) if isinstance(n, ast.Name)]
    known = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    rows = {n.id for n in ast.walk(reads[0].slice) if isinstance(n, ast.Name)}
    if rows & changed_names(loop, statement) - known:
        return None
    argument = call.args[0]
    selected = f"{ast.unparse(argument)}[{places.pop()}]"
    name = ast.unparse(statement.targets[0])
    return replaced_nodes(
        file, [(argument, selected), *((read, name) for read in reads)]
    )

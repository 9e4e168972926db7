"""A loop over steps that also computes what needs no earlier step, one step at a time:
the layers below a recurrence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import called_names, tree_of
from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.independence import is_independent
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.facts import TensorFacts

_SHARE, _CALLS, _ROWS = 0.15, 50, 64  # rows of a product that more would not slow
_DRIVERS = {"backward", "step", "zero_grad"}
_PRODUCTS = ("linear", "matmul", "mm", "addmm")
_OTHERS = ("item", "append", "next")
_MOST = 4096  # rows of a replay


def find(facts: Facts) -> list[Finding]:
    """Assignments of a loop whose iterations depend on each other, that read only what
    was there before the loop, and its variable.
    """
    findings: list[Finding] = []
    for file in facts.files:
        tree = tree_of(file)
        for loop in ast.walk(tree) if tree else ():
            if not isinstance(loop, ast.For) or is_independent(loop):
                continue
            if called_names(file, loop) & _DRIVERS:
                continue
            for statement in _of_each_step(loop):
                findings += _findings(facts, file, loop, statement)
    return findings


def _of_each_step(loop: ast.For) -> Iterator[ast.Assign]:
    """Assignments to one name that need no other iteration."""
    stores = [n.id for n in _names(loop) if isinstance(n.ctx, ast.Store)]
    changing = {n.id for n in _names(loop.target)}
    known: set[str] = set()
    for statement in loop.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        read = {n.id for n in _names(statement.value)}
        calls = [n for n in ast.walk(statement.value) if isinstance(n, ast.Call)]
        called = {ast.unparse(c.func).rpartition(".")[2] for c in calls}
        is_plain = not any("rand" in c or c in _OTHERS for c in called)
        is_own = isinstance(target, ast.Name) and stores.count(target.id) == 1
        needs = read & (set(stores) - changing - known)
        if is_own and is_plain and not needs and read & (changing | known):
            known |= {n.id for n in _names(target)}
            if calls:
                yield statement


def _names(node: ast.AST) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name)]


def _findings(
    facts: Facts, file: str, loop: ast.For, statement: ast.Assign
) -> Iterator[Finding]:
    own = facts.stacks.chains_within(file, statement)
    places = {place for chain in own for place in facts.stacks.frames[chain][:1]}
    behind = sum(facts.backward.get(place, 0.0) for place in places)
    share = facts.share_of(facts.stacks.of(own).total + behind)
    if share < _SHARE:
        return
    items = [
        item
        for item in facts.items
        if item.line is not None and (item.line.file, item.line.number) in places
    ]
    products = [item for item in items if _is_of_few_rows(item)]
    if products:
        largest = max(products, key=lambda item: item.total)
        yield Finding.at(
            file,
            statement.lineno,
            kind="compute",
            evidence=f"{share:.0%} of the time: {largest.calls} times for "
            f"{_rows(largest)} rows; no iteration needs an earlier one's result",
            fix=f"compute it for all iterations at once, before line {loop.lineno}",
            share=share,
            replay=_replay(largest),
        )


def _is_of_few_rows(item: Computation) -> bool:
    is_product = item.name in _PRODUCTS and item.calls >= _CALLS
    return is_product and 0 < _rows(item) <= _ROWS


def _rows(item: Computation) -> int:
    """Of the operand of a product with a matrix; 0 if it is none."""
    operands = [a for a in item.arguments[:2] if isinstance(a, TensorFacts)]
    is_plain = [len(operand.shape) for operand in operands] == [2, 2]
    return operands[0].shape[0] if is_plain else 0


def _replay(item: Computation) -> Replay:
    """The product with its gradients, for each iteration and for all at once."""
    rows, width = item.arguments[0].shape
    weight = item.arguments[1].shape
    steps = max(min(item.calls, _MOST // rows), 2)
    name = "F.linear(x, w)" if item.name == "linear" else "x @ w"
    setup = (
        f"w = torch.randn({weight[0]}, {weight[1]}, requires_grad=True)\n"
        f"every = torch.randn({steps * rows}, {width})\n"
        f"steps = every.split({rows})"
    )
    plain = f"sum(({name}).sum() for x in steps).backward()"
    return Replay(setup, plain, f"({name.replace('x', 'every', 1)}).sum().backward()")

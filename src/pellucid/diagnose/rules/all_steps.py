"""A loop over steps that also computes what needs no earlier step, one step at a time:
the layers below a recurrence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pellucid
from pellucid.diagnose.edits import called_names, tree_of
from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.independence import ADDING, is_changing, is_independent
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.facts import TensorFacts

_SHARE, _CALLS, _ROWS = 0.15, 50, 64  # rows of a product that more would not slow
_DRIVERS = {"backward", "step", "zero_grad"}
_PRODUCTS = ("linear", "matmul", "mm", "addmm")
_OTHERS = ("item", "append", "next")
_MOST = 4096  # rows of a replay
_EFFECTS = {pellucid.Tag.nondeterministic_seeded, pellucid.Tag.inplace}


def find(facts: Facts) -> list[Finding]:
    """Assignments of a loop whose iterations depend on each other, that read only what
    was there before the loop, and its variable.
    """
    findings: list[Finding] = []
    for file in facts.files:
        tree = tree_of(file)
        for loop in ast.walk(tree) if tree else ():
            if not isinstance(loop, ast.For) or is_independent(loop, tree):
                continue
            if called_names(file, loop) & _DRIVERS:
                continue
            for statement in _of_each_step(facts.files, loop):
                findings += _findings(facts, file, loop, statement)
    return findings


def _of_each_step(files: Iterable[str], loop: ast.For) -> Iterator[ast.Assign]:
    """Assignments to one name that need no other iteration."""
    stores = [n.id for n in _names(loop) if isinstance(n.ctx, ast.Store)]
    variables = {n.id for n in _names(loop.target)}
    functions = list(_functions(files, loop))
    written, changed = _written(loop), _changed(loop)
    fields = {name for f in functions for name in _fields(_written(f))}
    known: set[str] = set()
    for statement in loop.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        own = variables | known
        called = [f for f in functions if f.name in _called(statement.value)]
        read = set(_chains(statement.value))
        needs = any(_overlap(r, w) for r in read - own for w in written - own)
        inside = {name for f in called for name in _fields(_chains(f))}
        needs |= bool((_fields(read) | inside) & (fields | _fields(written)))
        names = {n.id for n in _names(target) if stores.count(n.id) == 1} - changed
        is_own = isinstance(target, ast.Name) and bool(names)
        is_plain = all(map(_is_plain, [statement.value, *called]))
        if is_own and is_plain and not needs and read & own:
            known |= names
            if any(isinstance(n, ast.Call) for n in ast.walk(statement.value)):
                yield statement


def _functions(files: Iterable[str], loop: ast.For) -> Iterator[ast.FunctionDef]:
    """Functions of the program that the loop may call: by their names, and those that
    run when an object is called.
    """
    every = [
        node
        for tree in map(tree_of, files)
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.FunctionDef) and loop not in ast.walk(node)
    ]
    names, reached = _called(loop), set[str]()
    while names - reached:
        reached |= names
        names = {n for f in every if f.name in reached for n in _called(f)} | reached
    yield from (f for f in every if f.name in reached)


def _called(node: ast.AST) -> set[str]:
    """The last names of what a node calls; ``forward`` if that may be a module."""
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    names = {ast.unparse(function).rpartition(".")[2] for function in calls}
    return names | {"forward", "__call__"} if names else names


def _is_plain(node: ast.AST) -> bool:
    """Whether it draws no random numbers, and changes no objects."""
    called = _called(node)
    is_drawn = any("rand" in c or "dropout" in c or c in _OTHERS for c in called)
    is_outer = any(isinstance(n, ast.Global | ast.Nonlocal) for n in ast.walk(node))
    return not is_drawn and not is_outer and not _changed(node)


def _written(node: ast.AST) -> set[str]:
    """The names that a node assigns, and what it changes."""
    names = {n.id for n in _names(node) if not isinstance(n.ctx, ast.Load)}
    return names | _changed(node)


def _changed(node: ast.AST) -> set[str]:
    """Whose attributes and items a node assigns, and what it changes in place:
    ``self.state``, ``rows`` for ``rows[t]``.
    """
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute | ast.Subscript):
            if not isinstance(inner.ctx, ast.Load):
                found.add(_whole(inner))
        elif isinstance(inner, ast.Call):
            name = ast.unparse(inner.func).rpartition(".")[2]
            if is_changing(name) or name in ADDING:
                objects = [getattr(inner.func, "value", None), *inner.args[:1]]
                found |= {_whole(each) for each in objects if each is not None}
            found |= {_whole(k.value) for k in inner.keywords if k.arg == "out"}
    return found - {""}


def _whole(node: ast.AST) -> str:
    """``self.state`` of ``self.state[t].mul``; empty if it begins with no name."""
    whole = node
    while not isinstance(node, ast.Name):
        is_call = isinstance(node, ast.Call)
        inner = node.func if is_call else getattr(node, "value", None)  # type: ignore[attr-defined]
        if not isinstance(inner, ast.AST):
            return ""
        if not isinstance(node, ast.Attribute):
            whole = inner
        node = inner
    return ast.unparse(whole)


def _chains(node: ast.AST) -> Iterator[str]:
    """The names and attributes that it reads, ``self.state`` as one."""
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        whole = _whole(node)
        if whole == ast.unparse(node):
            yield whole
            return
    for inner in ast.iter_child_nodes(node):
        yield from _chains(inner)


def _overlap(one: str, other: str) -> bool:
    """Whether one is the other, or an attribute of it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _fields(chains: Iterable[str]) -> set[str]:
    """The attributes among names and attributes."""
    return {part for chain in chains for part in chain.split(".")[1:]}


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
    if products and not any(map(_has_effects, items)):
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


def _has_effects(item: Computation) -> bool:
    """Whether its op draws random numbers, as dropout, or writes to a tensor, as the
    statistics of a batch.
    """
    namespace, _, full = item.op.partition("::")
    name, _, overload = full.partition(".")
    packet = getattr(getattr(pellucid.ops, namespace), name)
    return not _EFFECTS.isdisjoint(getattr(packet, overload or "default").tags)


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

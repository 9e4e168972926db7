"""Graphs that are retained after their only backward pass."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator

import numpy as np

from pellucid.diagnose.edits import (
    called_in_loops,
    enclosing,
    indent_of,
    is_loop,
    replaced,
)
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind, Log
from pellucid.profiler._timeline.storages import backward_passes

_ARGUMENT = r"(?:,\s*)?retain_graph=True"


def find(facts: Facts) -> list[Finding]:
    """``backward(retain_graph=True)`` that a loop calls once per iteration."""
    if not len(facts.log.columns.rows_of(Kind.NODE)):
        return []
    for file, number, _ in facts.matching(r"\.backward\([^)]*retain_graph=True"):
        scope = _repeated_scope(file, number)
        if scope is None or _backwards(file, scope) != 1:
            continue
        carried = _carried(scope)
        if carried and _grows(facts.log):
            return [_of_carried(file, number, carried)]
        return [
            Finding.at(
                file,
                number,
                kind="peak",
                evidence="saved values stay alive while the next iteration saves its "
                "own",
                fix="leave retain_graph out: the graph is used once",
                share=0.06,
                patch=replaced(file, number, _ARGUMENT, ""),
                keeps_output=True,
            )
        ]
    return []


def _of_carried(file: str, number: int, names: list[str]) -> Finding:
    patch = replaced(file, number, _ARGUMENT, "")
    indent = indent_of(file, number)
    cuts = tuple(f"{indent}{name} = {name}.detach()" for name in names)
    edits = (*(patch.edits if patch else ()), (number + 1, number, cuts))
    return Finding.at(
        file,
        number,
        kind="leak",
        evidence=f"each iteration reads {', '.join(names)} of the one before with its "
        "graph: the graph, and what backward runs, grows with every iteration",
        fix=f"detach what is carried over: {cuts[0].strip()}, and no retain_graph",
        share=0.12,
        patch=Patch(file, edits),
        is_certain=True,
    )


def _carried(scope: ast.stmt) -> list[str]:
    """The variables of a loop that a call makes of their own last value: the states of
    a recurrence, ``y, h = model(x, h)``. An iteration reads them before it binds them.
    """
    if not isinstance(scope, ast.For | ast.While):
        return []
    bound = _stored(scope.target) if isinstance(scope, ast.For) else set()
    carried: dict[str, None] = {}
    for statement in scope.body:
        own = dict.fromkeys(_remade(statement))
        carried |= {name: None for name in own if name not in bound}
        bound |= _stored(statement)
    return list(carried)


def _remade(statement: ast.stmt) -> Iterator[str]:
    """What a statement makes of its own last value by a call."""
    before: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.For):
            before |= _stored(node.target)
        if not isinstance(node, ast.Assign):
            continue
        if isinstance(node.value, ast.Call):
            given = [a.id for a in node.value.args if isinstance(a, ast.Name)]
            stored = {name for target in node.targets for name in _stored(target)}
            yield from (n for n in given if n in stored and n not in before)
        for target in node.targets:
            before |= _stored(target)


def _stored(node: ast.AST) -> set[str]:
    """The names that a node binds."""
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _grows(log: Log) -> bool:
    """Whether backward passes run more and more nodes."""
    nodes = np.sort(log.columns.begin[log.columns.rows_of(Kind.NODE)])
    begins, ends = backward_passes(log)
    counts = np.searchsorted(nodes, ends) - np.searchsorted(nodes, begins)
    half = len(counts) // 2
    return half > 0 and bool(counts[half:].mean() > 1.2 * counts[:half].mean())


def _repeated_scope(file: str, number: int) -> ast.stmt | None:
    """The innermost loop that contains a line, or its function if a loop calls that."""
    loops = enclosing(file, number, is_loop)
    if loops:
        return loops[-1]
    called = {name for _, _, name in called_in_loops(file)}
    functions = enclosing(file, number, lambda n: isinstance(n, ast.FunctionDef))
    inner = functions[-1:] if functions and functions[-1].name in called else []  # type: ignore[attr-defined]
    return inner[0] if inner else None


def _backwards(file: str, loop: object) -> int:
    first, last = loop.lineno, loop.end_lineno  # type: ignore[attr-defined]
    lines = linecache.getlines(file)[first - 1 : last]
    return len(re.findall(r"\.backward\(|autograd\.grad\(", "".join(lines)))

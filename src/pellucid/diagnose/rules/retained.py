"""Graphs that are retained after their only backward pass."""

from __future__ import annotations

import ast
import linecache
import re

from pellucid.diagnose.edits import (
    called_in_loops,
    enclosing,
    indent_of,
    is_loop,
    replaced,
)
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

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
        if carried:
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
    a recurrence, ``y, h = model(x, h)``.
    """
    carried: dict[str, None] = {}
    for node in ast.walk(scope) if is_loop(scope) else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        stored = {n.id for t in node.targets for n in ast.walk(t) if _is_name(n)}  # type: ignore[attr-defined]
        given = [a.id for a in node.value.args if isinstance(a, ast.Name)]
        carried |= dict.fromkeys(name for name in given if name in stored)
    return list(carried)


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


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

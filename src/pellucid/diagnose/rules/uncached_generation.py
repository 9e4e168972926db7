"""A sequence that a loop extends and feeds whole to a model, of which it reads the last
position: every round computes all positions again.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from pellucid.diagnose.edits import LAST, is_loop, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.patterns import MODULES
from pellucid.diagnose.verdict import Facts

_SHARE, _LENGTHS = 0.15, 5
_JOINS = ("cat", "concat", "concatenate", "hstack")
_EXTENDS = ("append", "extend")
_PAST = ("past", "cache", "state", "memory", "kv")


def find(facts: Facts) -> list[Finding]:
    """The statements that call a model with a growing sequence."""
    findings = []
    for file in facts.files:
        for statement, call, name in _growing_calls(file):
            inside = facts.within(file, statement)
            share = facts.share_of(inside.total)
            lengths = _lengths(facts, file, statement)
            if share < _SHARE or lengths < _LENGTHS:
                continue
            findings.append(
                Finding.at(
                    file,
                    statement.lineno,
                    kind="waste",
                    evidence=f"{share:.0%} of the time: {ast.unparse(call.func)} of "
                    f"the whole of {name}, which had {lengths} lengths; only the last "
                    "position is read",
                    fix=_fix(file),
                    share=share,
                    is_certain=True,
                )
            )
    return findings


def _fix(file: str) -> str:
    """Names the parameter that the program's own functions have for it."""
    names = [
        argument.arg
        for node in ast.walk(tree_of(file) or ast.Module([], []))
        if isinstance(node, ast.FunctionDef)
        for argument in node.args.args
        if any(word in argument.arg for word in _PAST)
    ]
    given = f", as `{names[0]}` allows" if names else ""
    return f"keep keys and values (or states){given}, and feed only the new position"


def _growing_calls(file: str) -> Iterator[tuple[ast.stmt, ast.Call, str]]:
    """(statement, call, the sequence's name) in loops that extend the sequence."""
    tree = tree_of(file)
    for loop in ast.walk(tree) if tree else ():
        if not (isinstance(loop, ast.stmt) and is_loop(loop)):
            continue
        names = {name for node in ast.walk(loop) for name in _extended(node)}
        if not names or not any(_reads_last(node) for node in ast.walk(loop)):
            continue
        for statement in ast.walk(loop):
            if not isinstance(statement, ast.stmt) or hasattr(statement, "body"):
                continue
            for call in ast.walk(statement):
                if isinstance(call, ast.Call) and _is_model(call):
                    given = {n for a in call.args for n in _names(a)} & names
                    if given and not any(_reads_last(a) for a in call.args):
                        yield statement, call, min(given)
                        break


def _extended(node: ast.AST) -> Iterator[str]:
    """The names that a node makes longer."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        calls = [n for n in ast.walk(node.value) if isinstance(n, ast.Call)]
        joins = any(ast.unparse(c.func).rpartition(".")[2] in _JOINS for c in calls)
        is_sum = isinstance(node.value, ast.BinOp) and any(
            isinstance(side, ast.List) for side in (node.value.left, node.value.right)
        )
        if (joins or is_sum) and name in _names(node.value):
            yield name
    if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List):
        yield ast.unparse(node.target)
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr in _EXTENDS:
        yield ast.unparse(function.value)


def _reads_last(node: ast.AST) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(ast.unparse(part) in LAST for part in parts)


def _is_model(call: ast.Call) -> bool:
    """Whether it may be a model's: no function of torch, no method of a list."""
    name = ast.unparse(call.func)
    last = name.rpartition(".")[2]
    is_other = last in (*_EXTENDS, "join") or hasattr(builtins, last)
    return name.partition(".")[0] not in MODULES and not is_other


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _lengths(facts: Facts, file: str, statement: ast.stmt) -> int:
    """How many sizes most operands inside a statement had, of those that had many."""
    lines = range(statement.lineno, (statement.end_lineno or 0) + 1)
    sizes: dict[tuple[str, Any, int], set[tuple[int, ...]]] = {}
    for item in facts.items:
        frames = facts.log.frames(int(facts.log.columns.line[item.rows[0]]))
        if not any(f.file == file and f.number in lines for f in frames):
            continue
        for place, operand in enumerate(item.arguments):
            if hasattr(operand, "strides"):
                key = item.name, item.line, place
                sizes.setdefault(key, set()).add(tuple(operand.shape))
    counts = [len(found) for found in sizes.values() if len(found) >= _LENGTHS]
    return max(set(counts), key=counts.count, default=0)

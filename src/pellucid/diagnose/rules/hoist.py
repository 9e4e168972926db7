"""A loop-invariant statement in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pellucid.diagnose.edits import (
    called_in_loops,
    called_names,
    definition_of,
    enclosing,
    indent_of,
    is_loop,
    statement_at,
    text_of,
    tree_of,
)
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

# Calls whose results differ each time, or that change their arguments.
_CHANGING = (
    "rand",
    "next",
    "item",
    "drop",
    "read",
    "pop",
    "append",
    "step",
    "backward",
)

_TRAINING = {"step", "backward", "grad"}
_BUILTINS = ("len", "range", "int", "float", "max", "min", "sum", "tuple", "zip", "abs")


def find(facts: Facts) -> list[Finding]:
    """Assignments in loops whose right-hand side is loop-invariant."""
    findings = []
    for entry in facts.lines.values():
        file, number = entry.line.file, entry.line.number
        share = facts.share_of(entry.total)
        if share < 0.1 or entry.calls_of() < 3:
            continue
        loops = enclosing(file, number, is_loop)
        patch = _patch(file, number, loops[-1]) if loops else None
        if patch is None:
            continue
        findings.append(_finding(file, number, share, entry.calls_of(), patch))
    return findings + [f for file in facts.files for f in _functions(facts, file)]


def _finding(file: str, number: int, share: float, calls: int, patch: Patch) -> Finding:
    return Finding.at(
        file,
        number,
        kind="waste",
        evidence=f"{share:.0%} of the time: {calls} calls of what does not depend on "
        "the loop",
        fix="compute it once, before the loop",
        share=share,
        patch=patch,
        keeps_output=True,
    )


def _functions(facts: Facts, file: str) -> Iterator[Finding]:
    """Functions of the program that a loop calls with the same arguments."""
    tree = tree_of(file)
    for _, statement, name in called_in_loops(file):
        definition = definition_of(tree, name)
        if not isinstance(definition, ast.FunctionDef):
            continue
        numbers = range(definition.lineno, (definition.end_lineno or 0) + 1)
        entries = [e for (f, n), e in facts.lines.items() if f == file and n in numbers]
        share = facts.share_of(sum(entry.total for entry in entries))
        loops = enclosing(file, statement.lineno, is_loop)
        patch = _patch(file, statement.lineno, loops[-1]) if share >= 0.1 else None
        if patch is not None:
            calls = sum(entry.calls for entry in entries)
            yield _finding(file, statement.lineno, share, calls, patch)


def _patch(file: str, number: int, loop: ast.stmt) -> Patch | None:
    statement = statement_at(file, number)
    own = [node.lineno for node in loop.body]  # type: ignore[attr-defined]
    if not isinstance(statement, ast.Assign) or statement.lineno not in own:
        return None
    target = statement.targets[0]
    names = {
        node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)
    }
    if not isinstance(target, ast.Name) or target.id in names:
        return None
    called = _called_functions(file, statement)
    names |= {n.id for f in called for n in ast.walk(f) if isinstance(n, ast.Name)}
    if _changed(loop, statement) & (names | {target.id}):
        return None
    if _is_changing(statement, called) or not all(map(is_pure, called)):
        return None
    if _trains(file, loop) or not _is_used(loop, target.id):
        return None
    last = statement.end_lineno or statement.lineno
    lines = [text_of(file, k).strip() for k in range(statement.lineno, last + 1)]
    moved = tuple(indent_of(file, loop.lineno) + line for line in lines)
    return Patch(
        file,
        (
            (loop.lineno, loop.lineno - 1, moved),
            (statement.lineno, last, (f"{indent_of(file, statement.lineno)}pass",)),
        ),
    )


def _changed(loop: ast.stmt, besides: ast.stmt) -> set[str]:
    """Names that the loop binds, or whose object a method or item may change."""
    names = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            is_own = besides.lineno <= node.lineno <= (besides.end_lineno or 0)
            names |= set() if is_own else {node.id}
        if isinstance(node, ast.AugAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for inner in (n for target in targets for n in ast.walk(target)):
                is_other = node.lineno != besides.lineno
                if isinstance(inner, ast.Name) and is_other:
                    names.add(inner.id)
        if isinstance(node, ast.Attribute) and node.attr.endswith("_"):
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names


def _called_functions(file: str, statement: ast.stmt) -> list[ast.FunctionDef]:
    """The functions of the file that a statement calls by plain names."""
    calls = [n.func for n in ast.walk(statement) if isinstance(n, ast.Call)]
    names = [function.id for function in calls if isinstance(function, ast.Name)]
    definitions = (definition_of(tree_of(file), name) for name in names)
    return [f for f in definitions if isinstance(f, ast.FunctionDef)]


def is_pure(function: ast.FunctionDef) -> bool:
    """Whether a function is pure: its results depend only on its arguments, and it only
    binds names and writes elements of objects that it bound.
    """
    bound: set[str] = set()
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom):
                return False
            is_written = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
            if is_written and isinstance(node, ast.Name):
                bound.add(node.id)
            elif is_written and (
                isinstance(node, ast.Attribute) or _root(node) not in bound
            ):
                return False
            is_method = isinstance(node, ast.Attribute) and node.attr.endswith("_")
            if is_method and _root(node) not in bound:
                return False
    return not function.decorator_list and not any(
        _is_changing(statement) for statement in function.body
    )


def _is_changing(node: ast.stmt, known: Sequence[ast.FunctionDef] = ()) -> bool:
    """Whether it calls functions that may have effects: all except functions of torch,
    methods of their results, pure built-in functions and ``known`` ones.
    """
    plain = {*_BUILTINS, *(function.name for function in known)}
    called = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    names = [ast.unparse(function).rpartition(".")[2] for function in called]
    is_plain = all(
        function.id in plain
        if isinstance(function, ast.Name)
        else isinstance(function, ast.Attribute) and _root(function) != "self"
        for function in called
    )
    return not is_plain or any(word in name for name in names for word in _CHANGING)


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_used(loop: ast.stmt, name: str) -> bool:
    """Whether the loop reads the value: else the loop measures the statement."""
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        for n in ast.walk(loop)
    )


def _trains(file: str, loop: ast.stmt) -> bool:
    """Whether tensors are trained, which changes them without their names in the loop:
    by an optimizer or with gradients, here or in what the loop calls.
    """
    return bool(called_names(file, loop) & _TRAINING)

"""A statement in a loop computes the same in every round."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import enclosing, indent_of, is_loop, statement_at, text_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

# Calls that give other values each time, or change what they are given.
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


def find(facts: Facts) -> list[Finding]:
    """Assignments in loops whose right side nothing in the loop changes."""
    found = []
    for entry in facts.lines.values():
        file, number = entry.line.file, entry.line.number
        share = facts.share_of(entry.total)
        if share < 0.1 or len(entry.items) < 3:
            continue
        loops = enclosing(file, number, is_loop)
        patch = _patch(file, number, loops[-1]) if loops else None
        if patch is None:
            continue
        found.append(
            Finding.at(
                file,
                number,
                kind="waste",
                evidence=f"{share:.0%} of the time: {len(entry.items)} calls of what "
                "does not depend on the loop",
                fix="compute it once, before the loop",
                share=share,
                patch=patch,
            )
        )
    return found


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
    if _changed(loop, statement) & (names | {target.id}) or _is_changing(statement):
        return None
    if _trains(loop) or not _is_used(loop, target.id):
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
    found = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            is_own = besides.lineno <= node.lineno <= (besides.end_lineno or 0)
            found |= set() if is_own else {node.id}
        if isinstance(node, ast.AugAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for inner in (n for target in targets for n in ast.walk(target)):
                is_other = node.lineno != besides.lineno
                if isinstance(inner, ast.Name) and is_other:
                    found.add(inner.id)
        if isinstance(node, ast.Attribute) and node.attr.endswith("_"):
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found


def _is_changing(statement: ast.stmt) -> bool:
    """Whether it calls what may change or remember something: all but functions of
    torch and methods of what those give.
    """
    called = [n.func for n in ast.walk(statement) if isinstance(n, ast.Call)]
    names = [ast.unparse(function).rpartition(".")[2] for function in called]
    is_plain = all(isinstance(f, ast.Attribute) and _root(f) != "self" for f in called)
    return not is_plain or any(word in name for name in names for word in _CHANGING)


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_used(loop: ast.stmt, name: str) -> bool:
    """Whether the loop reads the value: else the statement is what it measures."""
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        for n in ast.walk(loop)
    )


def _trains(loop: ast.stmt) -> bool:
    """Whether an optimizer changes tensors that the loop does not name."""
    attributes = (n.attr for n in ast.walk(loop) if isinstance(n, ast.Attribute))
    return "step" in attributes

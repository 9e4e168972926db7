"""Deep copies of modules, states and tensors that a loop repeats."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import (
    enclosing,
    indent_of,
    is_loop,
    repeating,
    statement_at,
    text_of,
    tree_of,
)
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.1, 5


def find(facts: Facts) -> list[Finding]:
    """``copy.deepcopy(x)`` inside of a loop, or of a function that runs often."""
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        for node in ast.walk(tree) if tree else ():
            if not isinstance(node, ast.Call) or not _is_deep_copy(node):
                continue
            statement = statement_at(file, node.lineno)
            entry = facts.lines.get((file, node.lineno))
            if statement is None or entry is None:
                continue
            share = facts.share_within(file, statement)
            calls = max((item.calls for item in entry.items), default=0)
            if share < _SHARE or calls < _CALLS:
                continue
            findings.append(_finding(file, node, statement, calls, share))
    return findings


def _is_deep_copy(node: ast.Call) -> bool:
    return ast.unparse(node.func).rpartition(".")[2] == "deepcopy" and bool(node.args)


def _finding(
    file: str, node: ast.Call, statement: ast.stmt, calls: int, share: float
) -> Finding:
    source = ast.unparse(node.args[0])
    return Finding.at(
        file,
        node.lineno,
        kind="copy",
        evidence=f"{share:.0%} of the time: {source} is copied again and again, with "
        f"its objects; {calls} calls or more",
        fix="make the copy once, before the loop; then write the new values into it: "
        "load_state_dict, copy_",
        share=share,
        patch=_patch(file, node, statement),
        keeps_output=True,
    )


def _patch(file: str, node: ast.Call, statement: ast.stmt) -> Patch | None:
    """The copy of a module made before the outermost loop that does not bind it, and
    its state loaded in the loop.
    """
    source = node.args[0]
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return None
    target = statement.targets[0]
    is_plain = isinstance(target, ast.Name) and isinstance(source, ast.Name)
    if not is_plain or not _is_module(file, source.id):  # type: ignore[attr-defined]
        return None
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    load = f"{target.id}.load_state_dict({source.id}.state_dict())"  # type: ignore[attr-defined]
    edit = first, last, (indent_of(file, first) + load,)
    loops = [
        loop
        for loop in enclosing(file, first, is_loop)
        if not _binds(loop, source.id)  # type: ignore[attr-defined]
    ]
    if not repeating(file, first) or not loops or _escapes(loops[0], target.id):  # type: ignore[attr-defined]
        return None
    line = loops[0].lineno
    made = indent_of(file, line) + text_of(file, first).strip()
    return Patch(file, ((line, line - 1, (made,)), edit)) if first == last else None


def _is_module(file: str, name: str) -> bool:
    """Whether the program asks the object for what modules have."""
    tree = tree_of(file)
    owned = {
        node.attr
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }
    return bool(owned & {"parameters", "state_dict", "train", "eval", "modules"})


def _binds(loop: ast.stmt, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for n in ast.walk(loop)
    )


def _escapes(loop: ast.stmt, name: str) -> bool:
    """Whether the copies outlive an iteration: in containers, or as results."""
    for node in ast.walk(loop):
        values: list[ast.expr | None] = []
        if isinstance(node, ast.Call):
            is_method = isinstance(node.func, ast.Attribute)
            keeps = is_method and node.func.attr in ("append", "add", "insert", "put")  # type: ignore[attr-defined]
            values = list(node.args) if keeps else []
        elif isinstance(node, ast.Return | ast.Yield | ast.Assign):
            values = [node.value]
        if any(isinstance(v, ast.Name) and v.id == name for v in values):
            return True
    return False

"""Work in a training loop that the training does not need: logs, snapshots, validation
in every step. What a later round of a statement reads is a result of the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.carried import carried
from pellucid.diagnose.edits import definition_of, every_tenth, is_loop, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.rules import parameter_loops
from pellucid.diagnose.verdict import Facts

_SHARE = 0.15
_TRAINS = ("backward", "step")
_OTHERS = "torch.save", "Tensor.__repr__"  # ranges that other rules report
_CHANGES = ("load_state_dict",)


def find(facts: Facts) -> list[Finding]:
    """Statements of a loop with ``backward()`` whose results no step reads."""
    others = {place for name in _OTHERS for place in facts.ranges(name)}
    updating = {(one.file, one.line) for one in parameter_loops.find(facts)}
    findings = []
    for file in facts.files:
        for loop in _training_loops(file):
            needed = _needed(file, loop)
            for statement in loop.body:  # type: ignore[attr-defined]
                if statement in needed:
                    continue
                share = facts.share_of(facts.within(file, statement).total)
                lines = range(statement.lineno, (statement.end_lineno or 0) + 1)
                if share < _SHARE or any((file, n) in others for n in lines):
                    continue
                if facts.stacks.passes(file, statement, updating):
                    continue  # averages of parameters are a result of the training
                findings.append(
                    Finding.at(
                        file,
                        statement.lineno,
                        kind="waste",
                        evidence=f"{share:.0%} of the time is spent here in every "
                        "step, and no step reads its results",
                        fix="do it every tenth step, or once an epoch",
                        share=share,
                        patch=every_tenth(file, statement.lineno),
                    )
                )
    return findings


def _training_loops(file: str) -> Iterator[ast.stmt]:
    """The loops whose own statements call ``backward`` and ``step``."""
    tree = tree_of(file)
    for loop in ast.walk(tree) if tree else ():
        if isinstance(loop, ast.stmt) and is_loop(loop):
            own = [n for s in loop.body if not is_loop(s) for n in ast.walk(s)]  # type: ignore[attr-defined]
            names = {n.attr for n in own if isinstance(n, ast.Attribute)}
            if set(_TRAINS) <= names:
                yield loop


def _needed(file: str, loop: ast.stmt) -> set[ast.stmt]:
    """The statements on which a step depends, in this iteration or the next, or what
    the loop carries.
    """
    body = loop.body  # type: ignore[attr-defined]
    needed = {s for s in body if _names(s, attributes=True) & set(_TRAINS)}
    needed |= {s for s in body if any(map(_leaves, ast.walk(s)))}
    needed |= carried(body)
    while True:
        read = {name for s in needed for name in _names(s)}
        more = {s for s in body if s not in needed and _written(file, s) & read}
        if not more:
            return needed
        needed |= more


def _leaves(node: ast.AST) -> bool:
    return isinstance(node, ast.Break | ast.Return | ast.Yield | ast.Continue)


def _names(node: ast.AST, attributes: bool = False) -> set[str]:
    if attributes:
        return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _written(file: str, statement: ast.stmt) -> set[str]:
    """Names that a statement binds, or whose objects it may change."""
    written: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            written.add(node.id)
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(
            node.ctx, ast.Store
        ):
            written |= _names(node.value)
        if isinstance(node, ast.Attribute) and _is_change(node.attr):
            written |= _names(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            definition = definition_of(tree_of(file), node.func.id)
            if definition is None or _changes_arguments(definition):
                written |= {n for a in node.args for n in _names(a)}
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Attribute):
                written |= _names(function.value)
        if isinstance(node, ast.For) and _written_items(node):
            written |= _names(node.iter)
    return written


def _is_change(name: str) -> bool:
    return name in _CHANGES or (name.endswith("_") and not name.endswith("__"))


def _changes_arguments(definition: ast.AST) -> bool:
    return any(map(_is_change, _names(definition, attributes=True)))


def _written_items(loop: ast.For) -> bool:
    """Whether a loop changes the items that it goes over; ``stats[name]`` changes no
    name.
    """
    own, targets = _names(loop.target), set(ast.walk(loop.target))
    for node in ast.walk(loop):
        is_stored = isinstance(getattr(node, "ctx", None), ast.Store)
        is_method = isinstance(node, ast.Attribute) and _is_change(node.attr)
        if not (is_stored or is_method) or node in targets:
            continue
        changed = node.value if isinstance(node, ast.Subscript) else node
        if _names(changed) & own:
            return True
    return False

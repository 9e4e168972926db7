"""A layer computed at every position of a sequence, of which only the last is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import LAST, replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE = 0.1


def find(facts: Facts) -> list[Finding]:
    """The last layer of a ``forward`` whose results the program reads as
    ``model(x)[:, -1]``.
    """
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        for statement, call in _last_layers(tree) if tree else ():
            entry = facts.lines.get((file, statement.lineno))
            share = facts.share_of(entry.total) if entry is not None else 0.0
            if entry is None or share < _SHARE or not _is_of_sequences(entry.items):
                continue
            findings.append(
                Finding.at(
                    file,
                    statement.lineno,
                    kind="compute",
                    evidence=f"{share:.0%} of the time: {ast.unparse(call)} at every "
                    "position, of which the program reads the last",
                    fix="take the last position before this layer: [:, -1:]",
                    share=share,
                    patch=_patch(file, call),
                    keeps_output=True,
                )
            )
    return findings


def _reads_last(tree: ast.Module, model: ast.ClassDef) -> bool:
    """Whether what the instances of a class return is read as ``[:, -1]`` and in no
    other way.
    """
    names = {
        ast.unparse(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _makes(node.value, model.name)
        for target in node.targets
    }
    calls = {
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in names
    }
    return bool(calls) and calls <= set(_read_last(tree))


def _makes(value: ast.expr, name: str) -> bool:
    """``Model()``, ``Model().eval()``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value
    return isinstance(value, ast.Call) and ast.unparse(value.func) == name


def _read_last(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            parts = [ast.unparse(part) for part in node.slice.elts]
            if parts[:1] == [":"] and len(parts) > 1 and parts[1] in LAST:
                yield node.value


def _last_layers(tree: ast.Module) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """Calls of a layer, ``self.head(h)``, whose value a ``forward`` returns, of which
    the program reads the last position.
    """
    models = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    forwards = (
        function
        for model in models
        if _reads_last(tree, model)
        for function in model.body
        if isinstance(function, ast.FunctionDef) and function.name == "forward"
    )
    for function in forwards:
        returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
        if len(returned) != 1:
            continue
        for statement in function.body:
            value = getattr(statement, "value", None)
            is_own = value is returned[0] or (
                isinstance(statement, ast.Assign)
                and isinstance(returned[0], ast.Name)
                and ast.unparse(statement.targets[0]) == returned[0].id
            )
            is_layer = isinstance(value, ast.Call) and len(value.args) == 1
            if is_own and is_layer and ast.unparse(value.func).startswith("self."):  # type: ignore[union-attr]
                yield statement, value  # type: ignore[misc]


def _is_of_sequences(items: list[Computation]) -> bool:
    """Whether the products on the line have operands with positions: of three dims."""
    tensors = (item.arguments[0] for item in items if item.arguments)
    return any(len(getattr(tensor, "shape", ())) == 3 for tensor in tensors)


def _patch(file: str, call: ast.Call) -> Patch | None:
    """The innermost argument of the layers around it at the last position."""
    inner: ast.expr = call
    while isinstance(inner, ast.Call) and len(inner.args) == 1:
        inner = inner.args[0]
    return replaced_nodes(file, [(inner, f"{ast.unparse(inner)}[:, -1:]")])

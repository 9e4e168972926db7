"""Statements that retain a value beyond its loop iteration, by the name of the variable
or container: ``total += x``, ``total = 0.9 * total + x``, ``self.seen.append(x)``,
``cache[key] = x``. Used by rules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pellucid.diagnose.edits import replaced_nodes, text_of, tree_of
from pellucid.diagnose.findings import Patch

_METHODS = ("append", "appendleft", "add", "insert", "put", "setdefault")
_NUMBERS = ("detach", "item", "tolist", "numpy", "float", "int")


@dataclass(frozen=True)
class Keeping:
    """A statement, and the expression whose value it retains."""

    file: str
    statement: ast.stmt
    value: ast.expr

    @property
    def line(self) -> int:
        """Where the statement begins."""
        return self.statement.lineno

    @property
    def is_detached(self) -> bool:
        """Whether it retains only numbers, or tensors without a graph."""
        called = [n.func for n in ast.walk(self.value) if isinstance(n, ast.Call)]
        names = [ast.unparse(function).rpartition(".")[2] for function in called]
        return any(name in _NUMBERS for name in names)

    def detached(self) -> Patch | None:
        """The statement with ``.detach()`` after the value; None if it spans lines."""
        if isinstance(self.value, ast.Dict | ast.List | ast.Tuple):
            return self._parts_detached()
        value = self.value
        if value.end_lineno != value.lineno or value.end_col_offset is None:
            return None
        text = text_of(self.file, value.lineno).encode()
        first, last = value.col_offset, value.end_col_offset
        inner = text[first:last]
        if not isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            inner = b"(" + inner + b")"
        new = (text[:first] + inner + b".detach()" + text[last:]).decode()
        return Patch(self.file, ((value.lineno, value.lineno, (new,)),))

    def _parts_detached(self) -> Patch | None:
        """The statement with each value of a display detached that is a tensor."""
        value = self.value
        parts = value.values if isinstance(value, ast.Dict) else value.elts  # type: ignore[attr-defined]
        return replaced_nodes(
            self.file,
            [
                (part, f"({text}.detach() if torch.is_tensor({text}) else {text})")
                for part in parts
                if isinstance(part, ast.Name | ast.Attribute)
                for text in [ast.unparse(part)]
            ],
        )


def keeping_of(files: Sequence[str], name: str) -> list[Keeping]:
    """The statements of a program that keep values in ``name``: a variable, or the
    last part of an attribute.
    """
    keepings = []
    for file in files:
        tree = tree_of(file)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.stmt):
                values = _kept(node, name)
                keepings += [Keeping(file, node, value) for value in values]
    return keepings


def _kept(node: ast.stmt, name: str) -> Iterator[ast.expr]:
    if isinstance(node, ast.AugAssign) and last_name(node.target) == name:
        is_list = isinstance(node.value, ast.List)
        yield from node.value.elts if is_list else [node.value]  # type: ignore[attr-defined]
    if isinstance(node, ast.Assign):
        for target in node.targets:
            is_item = isinstance(target, ast.Subscript)
            if is_item and last_name(target.value) == name:  # type: ignore[attr-defined]
                yield node.value
            elif last_name(target) == name and _reads(node.value, name):
                yield _added(node.value, name)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function, arguments = node.value.func, node.value.args
        is_method = isinstance(function, ast.Attribute) and function.attr in _METHODS
        if is_method and arguments and last_name(_container(function)) == name:
            yield arguments[-1]


def _container(function: ast.expr) -> ast.expr:
    """The container of a method call: ``history`` of ``history["loss"].append``."""
    assert isinstance(function, ast.Attribute)
    value = function.value
    while isinstance(value, ast.Subscript):
        value = value.value
    return value


def last_name(node: ast.expr) -> str:
    """Of a variable, or of an attribute its last part."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _reads(node: ast.expr, name: str) -> bool:
    return any(
        isinstance(n, ast.Name | ast.Attribute) and last_name(n) == name
        for n in ast.walk(node)
    )


def _added(value: ast.expr, name: str) -> ast.expr:
    """Of ``total + x`` the term without the total; else all of it."""
    if isinstance(value, ast.BinOp):
        for own, other in ((value.left, value.right), (value.right, value.left)):
            if _reads(own, name) and not _reads(other, name):
                return other
    return value

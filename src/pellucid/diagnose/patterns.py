"""Expressions of a program matched against patterns that are written as Python.

``Pattern("inv(_a) @ _b")`` matches ``torch.linalg.inv(K) @ y``, ``K.inverse().mv(y)``
and ``Kinv @ y`` where ``Kinv`` was assigned once. Names that begin with an underscore
mean any expression; functions, methods and operators of one meaning are one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

_SAME = {
    **dict.fromkeys(("mm", "bmm", "mv"), "matmul"),
    "multiply": "mul",
    "inverse": "inv",
    "subtract": "sub",
    "divide": "div",
    "absolute": "abs",
    "concat": "cat",
    "t": "T",
    "mT": "T",
    "norm": "norm",
}
_OPERATORS = {
    ast.MatMult: "matmul",
    ast.Mult: "mul",
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Div: "div",
    ast.Pow: "pow",
}
_NONE: Mapping[ast.expr, ast.expr] = MappingProxyType({})
# How programs name modules of functions.
TORCH_MODULES = ("torch", "F", "nn", "functional", "linalg", "special", "pellucid")
MODULES = (*TORCH_MODULES, "np", "numpy", "math")


@dataclass
class Match:
    """What the names of a pattern mean, and the names that were read through:
    variables whose definitions are parts of the match.
    """

    values: dict[str, ast.expr] = field(default_factory=dict)
    through: dict[str, ast.Assign] = field(default_factory=dict)


class Scope:
    """The names of a function or module that are assigned once, by an assignment of
    its own body or that of a loop.
    """

    def __init__(self, node: ast.AST) -> None:
        stores: dict[str, int] = {}
        self._assigned: dict[str, ast.Assign] = {}
        self.reads: dict[str, int] = {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                counts = self.reads if isinstance(inner.ctx, ast.Load) else stores
                counts[inner.id] = counts.get(inner.id, 0) + 1
            if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name):
                self._assigned[inner.targets[0].id] = inner
            if isinstance(inner, ast.arg):
                stores[inner.arg] = stores.get(inner.arg, 0) + 1
        self._stores = stores

    def definition(self, name: str, line: int) -> ast.Assign | None:
        """The only assignment of a name, before a line."""
        found = self._assigned.get(name)
        is_only = found is not None and self._stores.get(name) == 1
        return found if is_only and found.lineno < line else None  # type: ignore[union-attr]


@cache
def pattern(text: str) -> ast.expr:
    """A pattern's tree."""
    return ast.parse(text, mode="eval").body


def matches(wanted: ast.expr, node: ast.expr, scope: Scope) -> Match | None:
    """What a pattern's names mean in an expression; None if it does not match."""
    match = Match()
    return match if _agree(wanted, node, scope, match) else None


def _agree(wanted: ast.AST, node: ast.AST, scope: Scope, match: Match) -> bool:
    if isinstance(wanted, ast.Name) and wanted.id.startswith("_"):
        known = match.values.setdefault(wanted.id, node)  # type: ignore[arg-type]
        return ast.dump(known) == ast.dump(node)
    name, operands = _canonical(wanted)
    own_name, own = _canonical(node)
    if name != own_name or len(operands) != len(own):
        definition = None
        if isinstance(node, ast.Name) and name:
            definition = scope.definition(node.id, node.lineno)
        if definition is None or node.id in match.through:  # type: ignore[attr-defined]
            return False
        match.through[node.id] = definition  # type: ignore[attr-defined]
        return _agree(wanted, definition.value, scope, match)
    if not name:
        return ast.dump(wanted) == ast.dump(node)
    return all(_agree(a, b, scope, match) for a, b in zip(operands, own, strict=True))


def _canonical(node: ast.AST) -> tuple[str, list[ast.AST]]:
    """An expression as a function of operands, keywords by name; an empty name for
    what is none.
    """
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _named(_OPERATORS[type(node.op)], [node.left, node.right])
    if isinstance(node, ast.Subscript):
        return "index", [node.value, node.slice]
    if isinstance(node, ast.Slice):
        parts = [node.lower, node.upper, node.step]
        return "slice " + " ".join(str(p is None) for p in parts), [
            part for part in parts if part is not None
        ]
    if isinstance(node, ast.Tuple):
        return "tuple", list(node.elts)
    if isinstance(node, ast.Attribute):
        is_module = ast.unparse(node.value).rpartition(".")[2] in TORCH_MODULES
        return ("", []) if is_module else (_same(node.attr), [node.value])
    if isinstance(node, ast.Call):
        return _of_call(node)
    return "", []


def _of_call(node: ast.Call) -> tuple[str, list[ast.AST]]:
    values: list[ast.AST] = list(node.args)
    dims = [k.value for k in node.keywords if k.arg in ("dim", "axis")]
    others = sorted(
        k.arg or "**" for k in node.keywords if k.arg not in ("dim", "axis")
    )
    function = node.func
    if isinstance(function, ast.Attribute):
        name = function.attr
        owner = ast.unparse(function.value).rpartition(".")[2]
        if owner not in TORCH_MODULES:
            values = [function.value, *values]
    elif isinstance(function, ast.Name):
        name = function.id
    else:
        return "", []
    name, values = _named(_same(name), [*values, *dims])
    return " ".join([name, *others]), values


def _named(name: str, operands: list[ast.AST]) -> tuple[str, list[ast.AST]]:
    """A power of 2 is a square."""
    if (
        name == "pow"
        and len(operands) == 2
        and ast.unparse(operands[1]) in ("2", "2.0")
    ):
        return "square", operands[:1]
    return name, operands


def _same(name: str) -> str:
    return _SAME.get(name, name)


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """All expressions that compute values, the outermost first."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call | ast.BinOp | ast.Subscript | ast.Attribute):
            yield inner


def filled(
    template: str, match: Match, others: Mapping[ast.expr, ast.expr] = _NONE
) -> ast.expr:
    """A template with the values in the places of its names; ``others``: what replaces
    expressions inside of these values.
    """
    tree = ast.parse(template, mode="eval").body
    return _Filling(match.values, others).visit(tree)  # type: ignore[no-any-return]


class _Filling(ast.NodeTransformer):
    """Makes new nodes: those of a program's tree stay as they are."""

    def __init__(
        self, values: Mapping[str, ast.expr], others: Mapping[ast.expr, ast.expr]
    ) -> None:
        self._values, self._others = values, others

    def visit(self, node: ast.AST) -> Any:
        """The node's replacement."""
        if isinstance(node, ast.Name) and node.id in self._values:
            return _Filling({}, self._others).visit(self._values[node.id])
        if node in self._others:
            return self._others[node]  # type: ignore[index]
        fields = {name: self._field(value) for name, value in ast.iter_fields(node)}
        return ast.copy_location(type(node)(**fields), node)

    def _field(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._field(item) for item in value]
        return self.visit(value) if isinstance(value, ast.AST) else value

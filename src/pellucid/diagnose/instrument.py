"""Rewrites a program so that a run of it reports the values of its expressions.

`Probes` wraps the calls and operators of some statements: ``f(x) @ y`` becomes
``again(1, lambda: again(0, lambda: f(x), lambda: (x,)) @ y, lambda: (x, y))``, and
``values.py`` supplies ``again`` in the child process. What an expression reads is found
by its names; of a method of the same file, the attributes that it reads.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pellucid.diagnose.patterns import MODULES

AGAIN = "__pellucid_again__"
# Methods called for an effect, or for what takes no time.
_EFFECTS = (
    *("append", "backward", "step", "zero_grad", "update", "pop", "put", "get", "next"),
    *("item", "tolist", "numpy", "cpu", "detach", "format", "size", "read", "view"),
)
_OF_FRAMES = ("super", "locals", "vars", "eval", "exec")  # not within a lambda
_OPAQUE = ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Place:
    """An expression of a file: its node, and the function around it, or None."""

    file: str
    node: ast.expr
    function: str | None
    inputs: tuple[str, ...]

    @property
    def text(self) -> str:
        """Its source."""
        return ast.unparse(self.node)


class Probes:
    """The places that are asked about, in the order of their numbers, and the rewritten
    text of each file.
    """

    def __init__(self, asked: Sequence[tuple[str, int]]) -> None:
        self.places: list[Place] = []
        self.texts: dict[str, str] = {}
        for file in dict.fromkeys(file for file, _ in asked):
            lines = {line for name, line in asked if name == file}
            tree = ast.parse(Path(file).read_text(encoding="utf-8"))
            before = len(self.places)
            rewriter = _Rewriter(self.places, file, tree, lines)
            rewritten = rewriter.visit(tree)
            if len(self.places) > before:
                self.texts[file] = ast.unparse(ast.fix_missing_locations(rewritten))


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self, places: list[Place], file: str, tree: ast.Module, lines: set[int]
    ) -> None:
        self._places, self._file, self._lines = places, file, lines
        self._functions = {n.name for n in tree.body if isinstance(n, _Function)}
        self._methods: dict[str, _Function] = {}  # of the class around
        self._scopes: list[str] = []
        self._is_asked = False

    def visit(self, node: ast.AST) -> ast.AST:
        """A node with its inner expressions wrapped, and itself."""
        if isinstance(node, _Function | ast.ClassDef):
            return self._scope(node)
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            self._is_asked = node.lineno in self._lines and self._scopes[-1:] != [""]
            visited = self.generic_visit(node)
            self._is_asked = False
            return visited
        if isinstance(node, ast.Lambda):
            return node
        original = node
        if self._is_asked and isinstance(node, ast.Call | ast.BinOp):
            original = ast.parse(ast.unparse(node), mode="eval").body
            ast.copy_location(original, node)
            original.end_lineno, original.end_col_offset = (
                node.end_lineno,
                node.end_col_offset,
            )
        visited = self.generic_visit(node)
        if original is node or not _is_asked_about(original):
            return visited
        return self._wrapped(original, visited)  # type: ignore[arg-type]

    def _scope(self, node: ast.AST) -> ast.AST:
        around, is_class = self._methods, isinstance(node, ast.ClassDef)
        if isinstance(node, ast.ClassDef):
            self._methods = {n.name: n for n in node.body if isinstance(n, _Function)}
        self._scopes.append("" if is_class else node.name)  # type: ignore[attr-defined]
        node.body = [self.visit(statement) for statement in node.body]  # type: ignore[attr-defined]
        self._scopes.pop()
        self._methods = around
        return node

    def _wrapped(self, original: ast.expr, visited: ast.expr) -> ast.expr:
        inputs = tuple(dict.fromkeys(self._inputs(original)))
        function = self._scopes[-1] if self._scopes else None
        self._places.append(Place(self._file, original, function, inputs))
        number = len(self._places) - 1
        given = "".join(f"{name}," for name in inputs)
        call = f"{AGAIN}({number}, lambda: 0, lambda: ({given}))"
        wrapped = ast.parse(call, mode="eval").body
        wrapped.args[1].body = visited  # type: ignore[attr-defined]
        return wrapped

    def _inputs(
        self, node: ast.AST, bound: frozenset[str] = frozenset()
    ) -> Iterator[str]:
        """The names and attributes that an expression reads."""
        if isinstance(node, ast.Call):
            yield from self._called(node.func, bound)
            for argument in [*node.args, *(k.value for k in node.keywords)]:
                yield from self._inputs(argument, bound)
            return
        if isinstance(node, ast.Name | ast.Attribute):
            yield from _chain(node, bound)
            if isinstance(node, ast.Name) or _root(node) is not None:
                return
        for inner in ast.iter_child_nodes(node):
            yield from self._inputs(inner, bound | _bound(node))

    def _called(self, function: ast.expr, bound: frozenset[str]) -> Iterator[str]:
        """What a called function is, or reads of the object whose method it is."""
        if isinstance(function, ast.Name):
            if function.id not in self._functions:
                yield from _chain(function, bound)
            return
        is_own = isinstance(function, ast.Attribute) and function.attr in self._methods
        if is_own and ast.unparse(function.value) == "self":  # type: ignore[attr-defined]
            yield from self._reads_of_self(function.attr, 3)  # type: ignore[attr-defined]
            return
        if _root(function) is not None:
            yield from _chain(function, bound)
        else:
            for inner in ast.iter_child_nodes(function):
                yield from self._inputs(inner, bound)

    def _reads_of_self(self, name: str, depth: int) -> Iterator[str]:
        """The attributes of ``self`` that a method reads, and those that it calls."""
        for node in ast.walk(self._methods[name]):
            is_own = isinstance(node, ast.Attribute) and (
                isinstance(node.value, ast.Name) and node.value.id == "self"
            )
            if not is_own:
                continue
            if node.attr not in self._methods:  # type: ignore[attr-defined]
                yield f"self.{node.attr}"  # type: ignore[attr-defined]
            elif depth:
                yield from self._reads_of_self(node.attr, depth - 1)  # type: ignore[attr-defined]


def _is_asked_about(node: ast.AST) -> bool:
    """Whether an expression computes, and could be computed once."""
    for inner in ast.walk(node):
        is_of_frame = isinstance(inner, ast.Name) and inner.id in _OF_FRAMES
        if is_of_frame or isinstance(inner, _OPAQUE):
            return False
    if not isinstance(node, ast.Call):
        return True
    if isinstance(node.func, ast.Name):
        return not hasattr(builtins, node.func.id)
    name = ast.unparse(node.func).rpartition(".")[2]
    return name not in _EFFECTS and not (name.endswith("_") and name[-2:] != "__")


def _root(node: ast.expr) -> str | None:
    """The name that a chain of attributes begins with; None if it begins otherwise."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _chain(node: ast.expr, bound: frozenset[str]) -> Iterator[str]:
    root = _root(node)
    if root is not None and root not in bound and root not in MODULES:
        yield ast.unparse(node)


def _bound(node: ast.AST) -> frozenset[str]:
    """The names that a comprehension or a lambda binds."""
    kinds = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    if isinstance(node, ast.Lambda):
        return frozenset(argument.arg for argument in node.args.args)
    if not isinstance(node, kinds):
        return frozenset()
    targets = (generator.target for generator in node.generators)
    names = (n for target in targets for n in ast.walk(target))
    return frozenset(n.id for n in names if isinstance(n, ast.Name))

"""Keeps the variables of a script's long functions until the recording ends.

What a program still holds is looked up at its end. A function that ran for most of the
time has returned by then, and its variables are gone; so the functions of the script
report their variables when they return.
"""

from __future__ import annotations

import ast
import sys
import time
from types import CodeType
from typing import Any

_NAME = "__pellucid_leaving__"
_PART = 0.3  # of the recording, in which a function ran
_FUNCTION = ast.FunctionDef
_REPEATING = {
    *(ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
}


class Kept:
    """The variables of one function, as attributes."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.__dict__.update(variables)


class Leaving:
    """Compiles a script whose functions call it before they return. ``kept``: the
    seconds that functions ran, and their variables; a function that runs again keeps
    none of before.
    """

    def __init__(self) -> None:
        self.kept: list[tuple[float, Kept]] = []
        self._begin = 0.0
        self._of: dict[int, Kept] = {}  # the functions, by their first lines

    def compiled(self, source: str, path: str) -> CodeType:
        """The script's code, with the lines of the source."""
        tree = ast.parse(source, path)
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTION) and _is_followed(node):
                _follow(node)
        return compile(tree, path, "exec")

    def names(self) -> dict[str, Any]:
        """What the script's module needs."""
        return {_NAME: self}

    def start(self) -> None:
        """The recording begins."""
        self._begin = time.perf_counter()

    def stop(self) -> None:
        """It ends: keeps only what ran for long in all of it."""
        self.kept = [(took, kept) for took, kept in self.kept if self._is_long(took)]

    def entered(self, line: int) -> float:
        """The moment; drops what the function at this line kept."""
        before = self._of.pop(line, None)
        if before is not None:
            self.kept = [(took, kept) for took, kept in self.kept if kept is not before]
        return time.perf_counter()

    def left(self, line: int, entered: float) -> None:
        """Keeps the caller's variables if it ran for long so far."""
        took = time.perf_counter() - entered
        if self._is_long(took):
            variables = sys._getframe(1).f_locals
            own = {n: v for n, v in variables.items() if not n.startswith(_NAME)}
            self.stop()  # so far
            self._of[line] = Kept(own)
            self.kept.append((took, self._of[line]))

    def _is_long(self, took: float) -> bool:
        return took >= _PART * (time.perf_counter() - self._begin)


def _is_followed(node: ast.FunctionDef) -> bool:
    """Whether it repeats statements; of generators the caller has the loop."""
    kinds = {type(inner) for inner in ast.walk(node)}
    return bool(kinds & _REPEATING) and not kinds & {ast.Yield, ast.YieldFrom}


def _follow(node: ast.FunctionDef) -> None:
    first = node.body[0]
    entered = f"{_NAME}entered"
    head, tail = ast.parse(
        f"{entered} = {_NAME}.entered({first.lineno})\n"
        f"{_NAME}.left({first.lineno}, {entered})"
    ).body
    for added in (head, tail):
        for inner in ast.walk(added):
            ast.copy_location(inner, first)
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    texts, body = (node.body[:1], node.body[1:]) if is_text else ([], node.body)
    if body:
        around = ast.copy_location(ast.Try(body, [], [], [tail]), first)
        node.body = [*texts, head, around]

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
_PART = 0.3  # of the time since the first one began, in which a function ran
_FUNCTION = ast.FunctionDef


class Kept:
    """The variables of one function that ran for some seconds, as attributes."""

    __slots__ = ("__dict__", "__weakref__", "seconds")

    def __init__(self, seconds: float, variables: dict[str, Any]) -> None:
        self.seconds = seconds
        self.__dict__.update(variables)


class Leaving:
    """Compiles a script whose functions call it before they return."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self._begin: float | None = None  # when the first function was entered

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

    def entered(self) -> float:
        """The moment."""
        now = time.perf_counter()
        if self._begin is None:
            self._begin = now
        return now

    def left(self, entered: float) -> None:
        """Keeps the caller's variables if it ran for long."""
        now = time.perf_counter()
        assert self._begin is not None
        long = _PART * (now - self._begin)
        self.kept = [kept for kept in self.kept if kept.seconds >= long]
        if now - entered >= long:
            variables = sys._getframe(1).f_locals
            own = {n: v for n, v in variables.items() if not n.startswith(_NAME)}
            self.kept.append(Kept(now - entered, own))


def _is_followed(node: ast.FunctionDef) -> bool:
    """Whether it repeats statements; of generators the caller has the loop."""
    kinds = {type(inner) for inner in ast.walk(node)}
    return bool(kinds & {ast.For, ast.While}) and not kinds & {ast.Yield, ast.YieldFrom}


def _follow(node: ast.FunctionDef) -> None:
    first = node.body[0]
    entered = f"{_NAME}entered"
    head, tail = ast.parse(
        f"{entered} = {_NAME}.entered()\n{_NAME}.left({entered})"
    ).body
    for added in (head, tail):
        for inner in ast.walk(added):
            ast.copy_location(inner, first)
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    texts, body = (node.body[:1], node.body[1:]) if is_text else ([], node.body)
    if body:
        around = ast.copy_location(ast.Try(body, [], [], [tail]), first)
        node.body = [*texts, head, around]

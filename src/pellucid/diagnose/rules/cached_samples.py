"""Samples that a dataset decodes again in every epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import cached, enclosing, is_loop, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.rules.loader import has_workers, is_remade
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.storages import LOADER

_SHARE = 0.2
_GETTER = "__getitem__"
_CHANGING = ("rand", "shuffle", "choice", "sample")


def find(facts: Facts) -> list[Finding]:
    """``__getitem__`` without random numbers, in a program with long loading times."""
    share = facts.data_share / max(1 - facts.shares.get("away", 0.0), 1e-9)
    if share < _SHARE or not _has_epochs(facts) or has_workers(facts):
        return []
    if any(is_remade(f, n) for f, n, _ in facts.matching(r"\bDataLoader\(")):
        return []
    for file in facts.files:
        for getter in _getters(file):
            return [
                Finding.at(
                    file,
                    _heaviest(getter),
                    kind="data",
                    evidence=f"{share:.0%} of the time makes samples here, the same "
                    "ones in every epoch",
                    fix=f"cache the results of {_GETTER}: functools.cache",
                    share=share,
                    patch=cached(file, getter),
                    keeps_output=True,
                )
            ]
    return []


def _has_epochs(facts: Facts) -> bool:
    """Whether the loader is iterated repeatedly."""
    for file, number in facts.ranges(LOADER):
        functions = enclosing(file, number, lambda n: isinstance(n, ast.FunctionDef))
        if functions or len(enclosing(file, number, is_loop)) > 1:
            return True
    return False


def _getters(file: str) -> Iterator[ast.FunctionDef]:
    tree = tree_of(file)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef) and node.name == _GETTER:
            text = ast.unparse(node)
            if not node.decorator_list and not any(w in text for w in _CHANGING):
                yield node


def _heaviest(getter: ast.FunctionDef) -> int:
    """The first statement of the innermost loop, which runs most often; else the first
    statement of the function.
    """
    loops = [n for n in ast.walk(getter) if isinstance(n, ast.For | ast.While)]
    body = loops[-1].body if loops else getter.body
    return body[0].lineno

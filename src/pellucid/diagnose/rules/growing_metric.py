"""A result over everything seen so far, computed in every step: its cost grows with
the run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pellucid.diagnose.edits import tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.instrument import Place
from pellucid.diagnose.verdict import Facts

_ASKED, _SHARE, _CALLS, _GROWTH = 0.15, 0.15, 24, 1.5
_JOINS = ("cat", "concat", "concatenate", "append", "hstack", "vstack", "extend")


def find(facts: Facts) -> list[Finding]:
    """Questions: calls of methods that read what other methods extend."""
    return [
        Finding.question(file, line, "waste", _ASKED)
        for file in facts.files
        for line in _lines(file)
    ]


def _lines(file: str) -> Iterator[int]:
    tree = tree_of(file)
    names = _growing_methods(tree)
    for node in ast.walk(tree) if tree and names else ():
        is_simple = isinstance(node, ast.stmt) and not hasattr(node, "body")
        if is_simple and any(_calls(inner) in names for inner in ast.walk(node)):
            yield node.lineno  # type: ignore[attr-defined]


def _calls(node: ast.AST) -> str:
    """The name of a method that is called, without arguments; "" for other nodes."""
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return node.func.attr if is_method and not node.args else ""  # type: ignore[attr-defined]


def _growing_methods(tree: ast.Module | None) -> set[str]:
    """Methods that read attributes that other methods of the class extend."""
    names: set[str] = set()
    for owner in ast.walk(tree) if tree else ():
        if not isinstance(owner, ast.ClassDef):
            continue
        methods = [n for n in owner.body if isinstance(n, ast.FunctionDef)]
        extended = {m.name: set(_extended(m)) for m in methods}
        for method in methods:
            others = {a for n, own in extended.items() if n != method.name for a in own}
            read = {n.attr for n in ast.walk(method) if isinstance(n, ast.Attribute)}
            if read & others and not extended[method.name]:
                names.add(method.name)
    return names - {"__init__", "__len__"}


def _extended(method: ast.FunctionDef) -> Iterator[str]:
    """The attributes that a method makes longer."""
    for node in ast.walk(method):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr in _JOINS:
            yield from _attribute(function.value)
        if isinstance(node, ast.Assign):
            read = {
                n.attr for n in ast.walk(node.value) if isinstance(n, ast.Attribute)
            }
            names = [n for target in node.targets for n in _attribute(target)]
            yield from (n for n in names if n in read and read & set(_JOINS))
        if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List):
            yield from _attribute(node.target)


def _attribute(node: ast.expr) -> list[str]:
    return [node.attr] if isinstance(node, ast.Attribute) else []


def answer(
    places: Sequence[Place], values: Mapping[str, Any], questions: Sequence[Finding]
) -> list[Finding]:
    """Calls that take a share of the time, and longer the more was seen."""
    findings = []
    for key, known in values["answers"].items():
        place = places[int(key)]
        share = min(known["total"] / max(values["seconds"], 1e-9), 1.0)
        names = _growing_methods(tree_of(place.file))
        is_asked = _calls(place.node) in names and known["calls"] >= _CALLS
        if not is_asked or share < _SHARE:
            continue
        first, last = sum(known["parts"][:2]), sum(known["parts"][-2:])
        if last < _GROWTH * first:
            continue
        findings.append(
            Finding.at(
                place.file,
                place.node.lineno,
                kind="waste",
                evidence=f"{share:.0%} of the time: {place.text}, {known['calls']} "
                f"times, {last / max(first, 1e-9):.1f}x as long at the end as at the "
                "beginning: over all that was seen",
                fix="ask for it once, after the epoch; or keep sums and counts",
                share=share,
                is_certain=True,
            )
        )
    return findings

"""A container that every iteration appends to and that nothing reads as a whole."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.keeping import keeping_of, last_name
from pellucid.diagnose.verdict import Facts

_LEAST = 1 << 20  # bytes
_OWN = ("append", "appendleft", "add", "insert", "put", "setdefault", "get")


def find(facts: Facts) -> list[Finding]:
    """The statements that append to caches and lists that hold storages to the end."""
    findings: dict[str, Finding] = {}
    for entry in facts.settings.get("held", ()):
        for name in entry.containers - entry.graph_roots:
            places = keeping_of(facts.files, name)
            if entry.nbytes < _LEAST or not places or _is_read(facts, name):
                continue
            place = places[0]
            findings.setdefault(
                name,
                Finding.at(
                    place.file,
                    place.line,
                    kind="leak",
                    evidence=f"{name} holds {entry.nbytes / 2**20:.1f} MiB of "
                    f"{entry.count} rounds to the end, and is never read as a whole",
                    fix=f"bound {name} (deque(maxlen=...), an LRU cache), or delete "
                    "what is done with",
                    share=0.1,
                ),
            )
    return list(findings.values())


def _is_read(facts: Facts, name: str) -> bool:
    """Whether a program reads a container other than by single items and its length."""
    for file in facts.files:
        tree = tree_of(file)
        parents = {
            id(inner): outer
            for outer in (ast.walk(tree) if tree else ())
            for inner in ast.iter_child_nodes(outer)
        }
        for node in ast.walk(tree) if tree else ():
            is_load = isinstance(getattr(node, "ctx", None), ast.Load)
            is_name = isinstance(node, ast.Name | ast.Attribute) and is_load
            if not is_name or last_name(node) != name:  # type: ignore[arg-type]
                continue
            if not _is_of_items(node, parents.get(id(node))):  # type: ignore[arg-type]
                return True
    return False


def _is_of_items(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether a use of a container concerns items, their number, or a key."""
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return not isinstance(parent.slice, ast.Slice)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OWN or last_name(parent) == last_name(node)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id == "len"
    return isinstance(parent, ast.Compare) and node in parent.comparators

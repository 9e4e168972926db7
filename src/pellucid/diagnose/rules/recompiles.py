"""A compiled function that needs another graph at almost every call."""

from __future__ import annotations

from pellucid.diagnose.edits import tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_GRAPHS = 4  # of one place, at least: a few sizes and modes are normal


def find(facts: Facts) -> list[Finding]:
    """The definition of the function that was compiled most often."""
    found = []
    for compilation in facts.settings.get("compilations", ()):
        backend = compilation.graphs
        graphs = backend.variants.values() if backend else ()
        made = max((len(variants) for variants in graphs), default=0)
        place = _definition(facts, compilation.name) if made >= _GRAPHS else None
        if place is None:
            continue
        found.append(
            Finding.at(
                *place,
                kind="first-time",
                evidence=f"{compilation.name} was compiled {made} times: what it is "
                "given differs from call to call",
                fix="pass what changes as a tensor; pad sizes, or mark them dynamic",
                share=max(facts.shares.get("first-time", 0.0), 0.1),
            )
        )
    return found


def _definition(facts: Facts, name: str) -> tuple[str, int] | None:
    import ast

    last = name.rpartition(".")[2]
    for file in facts.files:
        tree = tree_of(file)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == last:
                return file, node.lineno
    return None

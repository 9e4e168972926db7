"""A compiled function that needs another graph in almost every call."""

from __future__ import annotations

from pellucid.diagnose.edits import tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_GRAPHS = 4  # least number per place: a few sizes and modes are normal


def find(facts: Facts) -> list[Finding]:
    """The definition of the function that was compiled most often."""
    findings = []
    for compilation in facts.settings.get("compilations", ()):
        backend = compilation.graphs
        graphs = backend.variants.values() if backend else ()
        graph_count = max((len(variants) for variants in graphs), default=0)
        place = _definition(facts, compilation.name) if graph_count >= _GRAPHS else None
        if place is None:
            continue
        findings.append(
            Finding.at(
                *place,
                kind="first-time",
                evidence=f"{compilation.name} was compiled {graph_count} times: its "
                "arguments differ from call to call",
                fix="pass changing values as tensors; pad sizes, or mark them dynamic",
                share=max(facts.shares.get("first-time", 0.0), 0.1),
            )
        )
    return findings


def _definition(facts: Facts, name: str) -> tuple[str, int] | None:
    import ast

    last = name.rpartition(".")[2]
    for file in facts.files:
        tree = tree_of(file)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == last:
                return file, node.lineno
    return None

"""Files of tensors that a loop reads again."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import replaced_nodes, top_of, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_COUNT = 3


def find(facts: Facts) -> list[Finding]:
    """Lines that call ``torch.load`` repeatedly."""
    findings = []
    for file, number, share, count in facts.repeated("torch.load", _COUNT):
        findings.append(
            Finding.at(
                file,
                number,
                kind="wait",
                evidence=f"{share:.0%} of the time: {count} files are read, and the "
                "loop waits for each",
                fix="keep what was read: functools.cache(torch.load)",
                share=share,
                patch=_patch(file, number),
                keeps_output=True,
                is_certain=True,
            )
        )
    return findings


def _patch(file: str, number: int) -> Patch | None:
    """The line's call through a cache by path, which is made before."""
    tree = tree_of(file)
    calls = [
        node.func
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call)
        and node.lineno <= number <= (node.end_lineno or node.lineno)
        and ast.unparse(node.func) == "torch.load"
    ]
    changed = replaced_nodes(file, [(call, "_load_once") for call in calls])
    if changed is None:
        return None
    top = top_of(file, number)
    made = "import functools", "_load_once = functools.cache(torch.load)"
    return Patch(file, ((top, top - 1, made), *changed.edits))

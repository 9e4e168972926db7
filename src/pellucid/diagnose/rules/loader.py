"""The loader dominates: it loads one sample at a time, in the training process."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import is_repeated, replaced, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """The line that makes the loader."""
    share = facts.data_share / max(1 - facts.shares.get("away", 0.0), 1e-9)
    if share < 0.25:
        return []
    for file, number, text in facts.matching(r"\bDataLoader\("):
        if "class " in text:
            continue
        if is_remade(file, number):
            return [_remade(file, number, share)]
        patch = None
        if "num_workers" not in text:
            patch = replaced(file, number, r"\)(\s*:?\s*)$", r", num_workers=2)\1")
        return [
            Finding.at(
                file,
                number,
                kind="data",
                evidence=f"{share:.0%} of the time is the loader's, here",
                fix="num_workers=2: load while the step runs",
                share=share,
                patch=patch,
            )
        ]
    return []


def is_remade(file: str, number: int) -> bool:
    """Whether a loop makes the loader again for each batch: ``next(iter(loader))``."""
    tree = tree_of(file)
    firsts = [
        node.lineno
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call) and ast.unparse(node).startswith("next(iter(")
    ]
    is_first = any(is_repeated(file, line) for line in firsts)
    return is_first and is_repeated(file, number)


def _remade(file: str, number: int, share: float) -> Finding:
    return Finding.at(
        file,
        number,
        kind="data",
        evidence=f"{share:.0%} of the time is the loader's: it is made, and its "
        "workers are started, for every batch",
        fix="make the loader once and keep its iterator; begin again at its end",
        share=share,
    )

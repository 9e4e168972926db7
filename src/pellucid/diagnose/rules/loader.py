"""The loader dominates: it loads one sample at a time, in the training process."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import is_repeated, replaced, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.samples import hottest
from pellucid.diagnose.verdict import Facts

_HIDDEN = 0.5  # of the time, by two workers


def find(facts: Facts) -> list[Finding]:
    """The program's line inside of the loader that takes most of its time, or the line
    that makes the loader.
    """
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
        place = hottest(facts.sampled_in_loader)
        is_inside = place is not None
        return [
            Finding.at(
                *(place or (file, number)),
                kind="data",
                evidence=f"{share:.0%} of the time is the loader's, "
                + ("most of it here, sample by sample" if is_inside else "here"),
                fix="do it once, before the epochs; or num_workers=2: load while the "
                "step runs"
                if is_inside
                else "num_workers=2: load while the step runs",
                share=share,
                part=_HIDDEN,
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

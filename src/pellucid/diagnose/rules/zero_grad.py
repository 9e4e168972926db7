"""Gradients that are never cleared: each step adds to those of all earlier steps."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import is_loop, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind
from pellucid.profiler._timeline.storages import OPTIMIZER

_CLEARS = r"zero_grad|\.grad\s*=|grad\.zero_|autograd\.grad\("


def find(facts: Facts) -> list[Finding]:
    """``backward()`` and ``step()`` in one loop of a program that clears nothing."""
    steps = int(facts.log.columns.is_named(Kind.RANGE, OPTIMIZER).sum())
    if steps < 2 or any(True for _ in facts.matching(_CLEARS)):
        return []
    for file in facts.settings.get("files", ()):
        tree = tree_of(file)
        for loop in ast.walk(tree) if tree else ():
            if not is_loop(loop):
                continue
            calls = [
                n
                for n in ast.walk(loop)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
            ]
            lines = {call.func.attr: call.lineno for call in calls}  # type: ignore[attr-defined]
            if {"backward", "step"} <= set(lines):
                return [
                    Finding.at(
                        file,
                        lines["backward"],
                        kind="waste",
                        evidence=f"{steps} optimizer steps, and nothing clears the "
                        "gradients: each is the sum of all earlier ones",
                        fix="zero_grad() before backward(), once per step",
                        share=0.06,
                    )
                ]
    return []

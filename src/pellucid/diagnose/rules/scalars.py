"""Recurrences over single elements: a loop whose rounds need each other's results and
compute with tensors of one element, where Python's numbers would do.
"""

from __future__ import annotations

import ast
from collections import Counter
from math import prod

from pellucid.diagnose.edits import called_names, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.independence import is_independent
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.facts import TensorFacts

_SHARE, _CALLS, _PART = 0.25, 300, 0.8
_DRIVERS = {"backward", "grad", "step", "zero_grad"}  # what trains needs tensors


def find(facts: Facts) -> list[Finding]:
    """The innermost of such loops; none that makes nodes of a graph."""
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        loops = [n for n in (ast.walk(tree) if tree else ()) if _is_loop(n)]
        for loop in loops:
            inside = facts.within(file, loop)
            share = facts.share_of(inside.total)
            if share < _SHARE or inside.nodes or is_independent(loop, tree):
                continue
            single, others = _calls(facts, file, loop)
            count = single.total()
            is_single = count >= _CALLS and count >= _PART * (count + others)
            inner = [n for n in ast.walk(loop) if n is not loop and n in loops]
            if is_single and not inner and not called_names(file, loop) & _DRIVERS:
                findings.append(_finding(file, share, single))
    return findings


def _is_loop(node: ast.AST) -> bool:
    return isinstance(node, ast.For | ast.While)


def _calls(facts: Facts, file: str, loop: ast.AST) -> tuple[Counter[int], int]:
    """By line of the loop the number of computations with single elements, and the
    number of others.
    """
    single: Counter[int] = Counter()
    others = 0
    for number in range(loop.lineno, loop.end_lineno + 1):  # type: ignore[attr-defined]
        entry = facts.lines.get((file, number))
        for item in entry.items if entry is not None else ():
            sizes = _sizes(item)
            if max(sizes, default=0) == 1:
                single[number] += item.calls
            elif sizes:
                others += item.calls
    return single, others


def _sizes(item: Computation) -> list[int]:
    """The numbers of elements of the tensors that are given to a call."""
    tensors = (a for a in item.arguments if isinstance(a, TensorFacts))
    return [prod(tensor.shape) for tensor in tensors]


def _finding(file: str, share: float, single: Counter[int]) -> Finding:
    return Finding.at(
        file,
        single.most_common(1)[0][0],
        kind="overhead",
        evidence=f"{share:.0%} of the time: {single.total()} computations with tensors "
        "of one element, and each round needs another's result",
        fix="compute with Python's numbers: tolist() before the loop, torch.tensor() "
        "after it",
        share=share,
        is_certain=True,
    )

"""Dense products with a matrix of which almost all elements are zero: an adjacency or
incidence matrix, one-hot rows.

The recording shows large products; the values run says how many elements are not zero.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.instrument import Place
from pellucid.diagnose.verdict import Facts, LineTime
from pellucid.profiler._timeline.facts import TensorFacts

_SHARE, _CALLS, _LARGE = 0.1, 3, 1 << 16
_NONZERO = 0.02  # of a matrix that is worth storing as a sparse one
_PRODUCTS = ("matmul", "mm", "addmm", "linear")


def find(facts: Facts) -> list[Finding]:
    """Questions: products with large matrices that take a share of the time; their
    evidence is the expression that replays the largest.
    """
    questions = []
    for (file, number), entry in facts.lines.items():
        seconds = entry.total + facts.backward.get((file, number), 0.0)
        sizes = _sizes(entry)
        if sizes is not None and facts.share_of(seconds) >= _SHARE:
            share = facts.share_of(seconds)
            text = " ".join(map(str, sizes))
            questions.append(Finding.question(file, number, "waste", share, text))
    return questions


def _sizes(entry: LineTime) -> tuple[int, int, int] | None:
    """Rows, columns and width of a line's largest product with a large matrix."""
    found = []
    for item in entry.items:
        pair = [a for a in item.arguments if isinstance(a, TensorFacts)][:2]
        if item.name not in _PRODUCTS or item.calls < _CALLS or len(pair) < 2:
            continue
        shapes = [tensor.shape for tensor in pair]
        if len(shapes[0]) == 2 and shapes[0][0] * shapes[0][1] >= _LARGE:
            width = shapes[1][1] if len(shapes[1]) == 2 else 1
            found.append((item.total, (*shapes[0], width)))
    return max(found)[1] if found else None


def answer(
    places: Sequence[Place], values: Mapping[str, Any], questions: Sequence[Finding]
) -> list[Finding]:
    """Products of which one operand is mostly zeros."""
    asked = {(q.file, q.line): q for q in questions if q.evidence}
    findings = []
    for key, known in values["answers"].items():
        place = places[int(key)]
        question = asked.get((place.file, place.node.lineno))
        least = min(known["nonzero"], default=1.0)
        if question is None or least > _NONZERO or not _multiplies(place.node):
            continue
        name = place.inputs[known["nonzero"].index(least)]
        rows, columns, width = map(int, question.evidence.split())
        findings.append(
            Finding.at(
                place.file,
                place.node.lineno,
                kind="waste",
                evidence=f"{question.share:.0%} of the time multiplies {name}, "
                f"{rows}x{columns}, of which {least:.2%} is not zero",
                fix=f"store {name} sparse (to_sparse_csr()), or its places alone: "
                "index_add_, indexing",
                share=question.share,
                replay=_replay(rows, columns, width, least),
                is_certain=True,
            )
        )
    return findings


def _multiplies(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    is_call = isinstance(node, ast.Call)
    return is_call and ast.unparse(node.func).rpartition(".")[2] in _PRODUCTS  # type: ignore[attr-defined]


def _replay(rows: int, columns: int, width: int, nonzero: float) -> Replay:
    setup = (
        f"a = (torch.rand({rows}, {columns}) < {nonzero!r}).float()\n"
        f"s = a.to_sparse_csr()\nb = torch.randn({columns}, {width})"
    )
    return Replay(setup, "a @ b", "s @ b")

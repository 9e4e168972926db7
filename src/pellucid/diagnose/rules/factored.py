"""Systems that are solved again and again with the same matrix: it could be factored
once.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.diagnose.edits import replaced_nodes, top_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.instrument import Place
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.1, 4
_SOLVES = ("linalg_solve", "linalg_solve_ex", "_linalg_solve", "_linalg_solve_ex")
_NAMES = ("torch.linalg.solve", "linalg.solve")
# Keeps the factors of the last matrix, until that is written to.
_SOLVER = (
    "def _solve_again(matrix, right, known=[None, None, None]):",
    "    if matrix.requires_grad or matrix.is_inference():",
    "        return torch.linalg.solve(matrix, right)",
    "    if known[0] is not matrix or known[1] != matrix._version:",
    "        factors = torch.linalg.lu_factor(matrix)",
    "        known[:] = matrix, matrix._version, factors",
    "    if right.dim() > 1 and right.shape != matrix.shape[:-1]:",
    "        return torch.linalg.lu_solve(*known[2], right)",
    "    return torch.linalg.lu_solve(*known[2], right[..., None])[..., 0]",
)


def find(facts: Facts) -> list[Finding]:
    """Questions: lines that solve systems for a share of the time."""
    questions = []
    for (file, number), entry in facts.lines.items():
        calls = sum(
            item.calls
            for item in entry.items
            if item.name.rpartition("::")[2] in _SOLVES
        )
        seconds = entry.total + facts.backward.get((file, number), 0.0)
        share = facts.share_of(seconds)
        if calls >= _CALLS and share >= _SHARE:
            questions.append(Finding.question(file, number, "compute", share))
    return questions


def answer(
    places: Sequence[Place], values: Mapping[str, Any], questions: Sequence[Finding]
) -> list[Finding]:
    """Calls of ``solve`` whose matrix was one and the same."""
    shares = {(q.file, q.line): q.share for q in questions if q.kind == "compute"}
    findings = []
    for key, known in values["answers"].items():
        place = places[int(key)]
        share = shares.get((place.file, place.node.lineno))
        if share is None or known["calls"] < _CALLS or not _solves(place.node):
            continue
        assert isinstance(place.node, ast.Call)
        matrix = ast.unparse(place.node.args[0])
        if matrix not in place.inputs or len(known["distinct"]) < len(place.inputs):
            continue
        if known["distinct"][place.inputs.index(matrix)] != 1 or known["inputs"] == 1:
            continue
        findings.append(
            Finding.at(
                place.file,
                place.node.lineno,
                kind="compute",
                evidence=f"{share:.0%} of the time: {known['calls']} systems are "
                f"solved with the same {matrix}, factored each time",
                fix=f"torch.linalg.lu_factor({matrix}) once, lu_solve here",
                share=share,
                patch=_patch(place),
            )
        )
    return findings


def _solves(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords
    return is_call and ast.unparse(node.func) in _NAMES  # type: ignore[attr-defined]


def _patch(place: Place) -> Patch | None:
    assert isinstance(place.node, ast.Call)
    operands = ", ".join(ast.unparse(argument) for argument in place.node.args)
    patch = replaced_nodes(place.file, [(place.node, f"_solve_again({operands})")])
    if patch is None:
        return None
    top = top_of(place.file, place.node.lineno)
    return Patch(place.file, (*patch.edits, (top, top - 1, _SOLVER)))

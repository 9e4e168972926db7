"""Tables and softmaxes over many more rows than the program's indices ever use."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pellucid.diagnose.edits import constant_of, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.instrument import Place
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE, _ROWS = 0.15, 1024
_LARGER, _SEEN, _STILL = 4, 4, 0.9  # rows over those used, values over rows used
_INDEXED = ("embedding", "cross_entropy_loss", "nll_loss")


def find(facts: Facts) -> list[Finding]:
    """Questions: the line that gives a number of rows, if computations on as many take
    a share of the time.
    """
    numbers = {n for item in facts.items for n in _indexed_rows(item)}
    findings = []
    for rows in numbers:
        own = [i for i in facts.items if any(rows in s for s in _shapes(i.arguments))]
        share = facts.share_of(sum(item.total for item in own))
        place = next((p for f in facts.files for p in _lines_of(f, rows)), None)
        if share >= _SHARE and place is not None:
            file, line = place
            findings.append(Finding.question(file, line, "waste", share, str(rows)))
    return findings


def _indexed_rows(item: Computation) -> Iterator[int]:
    """The rows of the table, or the classes, of an op with indices."""
    if item.name not in _INDEXED:
        return
    for shape in _shapes(item.arguments[:2]):
        dim = 0 if item.name == "embedding" else 1
        if len(shape) == 2 and shape[dim] >= _ROWS:
            yield shape[dim]


def _shapes(arguments: Any) -> Iterator[tuple[int, ...]]:
    for argument in arguments:
        if hasattr(argument, "strides"):
            yield tuple(argument.shape)
        elif isinstance(argument, list):
            yield from _shapes(argument)


def _lines_of(file: str, rows: int) -> Iterator[tuple[str, int]]:
    """Where a variable is given the number, where the number is written, where a table
    is made; in this order.
    """
    tree = tree_of(file)
    nodes = list(ast.walk(tree)) if tree else []
    named: list[tuple[str, int]] = []
    written: list[tuple[str, int]] = []
    for node in nodes:
        value = node.value if isinstance(node, ast.Assign) else None
        constant = constant_of(tree, value) if value is not None else None
        if constant is not None and constant.value == rows:
            (written if constant is value else named).append((file, node.lineno))  # type: ignore[attr-defined]
    made = [
        (file, node.lineno)
        for node in nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith(("Embedding", "Linear"))
    ]
    yield from (*named, *written, *made)


def answer(
    places: Sequence[Place], values: Mapping[str, Any], questions: Sequence[Finding]
) -> list[Finding]:
    """The questions whose tables are mostly unused, with as many rows used in the first
    half of the calls as in both.
    """
    findings = []
    for question in questions:
        seen, used, early = values["rows"].get(question.evidence, (0, 0, 0))
        is_known = seen >= _SEEN * used > 0 and early >= _STILL * used
        if not is_known or int(question.evidence) < _LARGER * used:
            continue
        findings.append(
            Finding.at(
                question.file,
                question.line,
                kind="waste",
                evidence=f"{question.share:.0%} of the time works on "
                f"{question.evidence} rows, of which all {seen} indices use {used}",
                fix=f"renumber what occurs from 0 to {used - 1}: torch.unique(ids, "
                "return_inverse=True), and make the tables as large",
                share=question.share,
                is_certain=True,
            )
        )
    return findings

"""A tensor that grows by ``cat`` in a loop, and is copied completely in every step."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pellucid.diagnose.edits import enclosing, indent_of, is_loop, statement_at
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts, LineTime

_GROWING = 0.85  # part of the calls that copy more than the one before


def find(facts: Facts) -> list[Finding]:
    """Lines whose ``cat`` grows."""
    findings = []
    for entry in facts.lines.values():
        cats = [item for item in entry.items if item.name in ("cat", "concat")]
        by_row = [(row, _size(item)) for item in cats for row in item.rows.tolist()]
        sizes = [size for _, size in sorted(by_row)]
        grows = len(sizes) >= 8 and _growth(sizes) >= _GROWING
        share = facts.share_of(entry.seconds.get("copy", 0.0))
        if not grows or share < 0.05:
            continue
        line = entry.line
        findings.append(
            Finding.at(
                line.file,
                line.number,
                kind="copy",
                evidence=f"{share:.0%} of the time: {len(sizes)} copies of what grew to"
                f" {max(sizes)} elements",
                fix="append to a list, one cat after the loop",
                share=share,
                patch=_patch(entry),
                keeps_output=True,
            )
        )
    return findings


def _growth(sizes: Sequence[int]) -> float:
    """The part of the calls that copy more than the one before: each time that the
    loop starts again, one copies less.
    """
    return sum(a < b for a, b in pairwise(sizes)) / (len(sizes) - 1)


def _size(item: Any) -> int:
    """The sum of all operands' sizes; 0 if there are too many to be recorded."""
    (tensors, *_) = item.arguments or [[]]
    if not isinstance(tensors, list):
        return 0
    return sum(sum(t.shape) for t in tensors if t is not None)


def _patch(entry: LineTime) -> Patch | None:
    """``x = cat([x, y], ...)`` in a loop that does not read x otherwise."""
    file, number = entry.line.file, entry.line.number
    statement = statement_at(file, number)
    loops = enclosing(file, number, is_loop)
    if not loops or not isinstance(statement, ast.Assign):
        return None
    target, call = statement.targets[0], statement.value
    if not (isinstance(target, ast.Name) and isinstance(call, ast.Call) and call.args):
        return None
    parts = call.args[0]
    if not isinstance(parts, ast.List | ast.Tuple) or len(parts.elts) != 2:
        return None
    first, second = parts.elts
    if not (isinstance(first, ast.Name) and first.id == target.id):
        return None
    loop = loops[-1]
    reads = [
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and node.id == target.id
    ]
    if len(reads) != 2:  # the target and the first part
        return None
    name, outer = f"{target.id}_parts", indent_of(file, loop.lineno)
    others = [ast.unparse(argument) for argument in call.args[1:]]
    others += [f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords]
    operands = ", ".join([name, *others])
    end = (loop.end_lineno or loop.lineno) + 1
    append = f"{indent_of(file, number)}{name}.append({ast.unparse(second)})"
    after = f"{outer}{target.id} = {ast.unparse(call.func)}({operands})"
    last = statement.end_lineno or statement.lineno
    return Patch(
        file,
        (
            (loop.lineno, loop.lineno - 1, (f"{outer}{name} = [{target.id}]",)),
            (statement.lineno, last, (append,)),
            (end, end - 1, (after,)),
        ),
    )

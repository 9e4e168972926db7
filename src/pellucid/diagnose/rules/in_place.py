"""``x = x + y`` of large tensors writes new memory in every iteration; an option."""

from __future__ import annotations

import ast

import numpy as np

from pellucid.diagnose.edits import enclosing, indent_of, is_loop, statement_at
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts, LineTime

_LARGE = 1 << 20  # bytes that a call writes
_SIGNS = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}


def find(facts: Facts) -> list[Finding]:
    """Lines in loops that bind a name to an op on its own value, without a graph."""
    findings = []
    for entry in facts.lines.values():
        file, number = entry.line.file, entry.line.number
        bytes_written = [i.run.bytes_written for i in entry.items if i.run is not None]
        share = facts.share_of(entry.total)
        if share < 0.2 or max(bytes_written, default=0) < _LARGE:
            continue
        statement = statement_at(file, number)
        if not enclosing(file, number, is_loop) or not isinstance(
            statement, ast.Assign
        ):
            continue
        new = _in_place(statement)
        if new is None or _records(facts, entry):
            continue  # a graph is recorded, which may need the old values
        last = statement.end_lineno or number
        edit = statement.lineno, last, (indent_of(file, number) + new,)
        findings.append(
            Finding.at(
                file,
                number,
                kind="bandwidth",
                evidence=f"{share:.0%} of the time: {entry.calls_of()} calls, each "
                f"writes {max(bytes_written) >> 20} MiB of new memory",
                fix=f"in place: {new}",
                share=share,
                patch=Patch(file, (edit,)),
                is_option=True,
            )
        )
    return findings


def _records(facts: Facts, entry: LineTime) -> bool:
    """Whether nodes were recorded between the line's calls."""
    rows = np.concatenate([item.rows for item in entry.items])
    return facts.records(rows)


def _in_place(statement: ast.Assign) -> str | None:
    """``x = x op y`` as ``x op= y``."""
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp):
        return None
    sign = _SIGNS.get(type(value.op))
    others = [n.id for n in ast.walk(value.right) if isinstance(n, ast.Name)]
    is_own = isinstance(value.left, ast.Name) and value.left.id == target.id
    if sign is None or not is_own or target.id in others:
        return None
    return f"{target.id} {sign} {ast.unparse(value.right)}"

"""Batches of a few samples: calls cost more than their computation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import text_of, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_FEW, _ENOUGH = 4, 64  # samples per batch


def find(facts: Facts) -> list[Finding]:
    """The loader's line, where calls and Python take most of the time."""
    share = facts.own_share("overhead", "python", "data")
    if share < 0.5:
        return []
    for file in facts.settings.get("files", ()):
        for size, node in _sizes(file):
            number = node.lineno
            new = text_of(file, number)
            first, last = node.col_offset, node.end_col_offset
            new = f"{new[:first]}{_ENOUGH}{new[last:]}"
            return [
                Finding.at(
                    file,
                    number,
                    kind="overhead",
                    evidence=f"{share:.0%} of the time is calls and Python: batches "
                    f"have {size} samples",
                    fix=f"batch_size={_ENOUGH}; this changes the steps of training",
                    share=share,
                    patch=Patch(file, ((number, number, (new,)),)),
                )
            ]
    return []


def _sizes(file: str) -> Iterator[tuple[int, ast.expr]]:
    """The small batch sizes passed to the loaders of a file."""
    tree = tree_of(file)
    for node in ast.walk(tree) if tree else ():
        is_loader = isinstance(node, ast.Call) and (
            ast.unparse(node.func).rpartition(".")[2] == "DataLoader"
        )
        for keyword in node.keywords if is_loader else ():  # type: ignore[attr-defined]
            value = keyword.value
            is_number = isinstance(value, ast.Constant) and value.value in range(
                1, _FEW + 1
            )
            if keyword.arg == "batch_size" and is_number:
                yield value.value, value

"""Batches of a few samples: calls cost more than their computation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import constant_of, replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.storages import LOADER

_FEW, _ENOUGH = 4, 64  # samples per batch


def find(facts: Facts) -> list[Finding]:
    """The loader's line, where calls and Python take most of the time."""
    share = facts.own_share("overhead", "python", "data")
    if share < 0.5:
        return []
    for file in facts.settings.get("files", ()):
        for size, call, value in [*_sizes(file), *_seen(facts, file)]:
            last = call.args[-1]
            edit = (
                (value, str(_ENOUGH))
                if value is not None
                else (last, f"{ast.unparse(last)}, batch_size={_ENOUGH}")
            )
            return [
                Finding.at(
                    file,
                    (value or call).lineno,
                    kind="overhead",
                    evidence=f"{share:.0%} of the time is calls and Python: batches "
                    f"have {size} samples",
                    fix=f"batch_size={_ENOUGH}; this changes the steps of training",
                    share=share,
                    patch=replaced_nodes(file, [edit]),
                )
            ]
    return []


def _sizes(file: str) -> Iterator[tuple[int, ast.Call, ast.expr | None]]:
    """The small batch sizes of a file's loaders: the call, and the size unless it is
    the default.
    """
    tree = tree_of(file)
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if ast.unparse(node.func).rpartition(".")[2] != "DataLoader":
            continue
        names = {keyword.arg: keyword.value for keyword in node.keywords}
        value = names.get("batch_size", node.args[1] if len(node.args) > 1 else None)
        if value is None and not {"batch_sampler", None} & names.keys():
            yield 1, node, None
            continue
        constant = constant_of(tree, value) if value is not None else None
        if constant is not None and constant.value in range(1, _FEW + 1):
            yield int(ast.unparse(constant)), node, constant


def _seen(facts: Facts, file: str) -> Iterator[tuple[int, ast.Call, ast.expr]]:
    """Loaders whose sizes the source does not show, where modules got few rows. Modules
    get few rows of a large batch too, in a loop over its samples.
    """
    rows = facts.settings.get("rows", ())
    if not rows or max(rows) > _FEW or not facts.ranges(LOADER):
        return
    tree = tree_of(file)
    for node in ast.walk(tree) if tree else ():
        is_call = isinstance(node, ast.Call)
        if is_call and ast.unparse(node.func).rpartition(".")[2] == "DataLoader":  # type: ignore[attr-defined]
            for keyword in node.keywords:  # type: ignore[attr-defined]
                is_size = keyword.arg == "batch_size"
                if is_size and constant_of(tree, keyword.value) is None:
                    yield max(rows), node, keyword.value  # type: ignore[misc]

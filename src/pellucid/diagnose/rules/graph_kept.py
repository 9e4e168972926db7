"""A tensor of one step that keeps its graph, and so the step's memory, alive."""

from __future__ import annotations

import ast
from collections import defaultdict

import numpy as np

from pellucid.diagnose.edits import enclosing, is_loop, replaced, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Line
from pellucid.profiler._timeline.storages import Storages

_LEAST, _STEPS = 1 << 14, 6


def find(facts: Facts) -> list[Finding]:
    """Statements that keep results of a loop whose graphs keep memory."""
    kept: dict[tuple[str, int], int] = defaultdict(int)
    counts: dict[tuple[str, int], int] = defaultdict(int)
    last = facts.log.begin + 0.95 * (facts.log.end - facts.log.begin)
    storages = Storages(facts.log)
    held = np.flatnonzero((storages.made >= 0) & (storages.end >= last))
    places, lines = facts.log.user_lines(storages.made[held])
    for number, line in enumerate(lines):
        own = held[places == number]
        if not _records(facts, line):
            continue
        kept[line.file, line.number] += int(storages.nbytes[own].sum())
        counts[line.file, line.number] += len(own)
    found: dict[tuple[str, int], Finding] = {}
    for (file, number), nbytes in kept.items():
        if nbytes < _LEAST or counts[file, number] < _STEPS:
            continue
        for place, patch, text in _keepers(file, number):
            entry = found.get((file, place))
            if entry is None:
                found[file, place] = Finding(
                    kind="leak",
                    file=file,
                    line=place,
                    text=text,
                    evidence="",
                    fix="keep the numbers, not the graph: detach()",
                    share=0.1,
                    patch=patch,
                    saved_bytes=0,
                )
            total = sum(kept.values())
            steps = counts[file, number]
            found[file, place].evidence = (
                f"{total / 2**20:.1f} MiB of {steps} steps live to the end, held by the"
                " graph behind it"
            )
    return list(found.values())


def _records(facts: Facts, line: Line) -> bool:
    """Whether nodes were made between the calls of a line."""
    entry = facts.lines.get((line.file, line.number))
    rows = [item.rows for item in entry.items] if entry else []
    return bool(rows) and facts.records(np.concatenate(rows))


def _keepers(file: str, number: int) -> list[tuple[int, Patch | None, str]]:
    """Of the loops that reach a line: ``x += y``, ``x = x + y``, ``xs.append(y)``."""
    tree = tree_of(file)
    if tree is None:
        return []
    loops = enclosing(file, number, is_loop)
    if not loops:  # the line is in a function that a loop calls
        loops = [node for node in ast.walk(tree) if is_loop(node)]  # type: ignore[misc]
    found = []
    for loop in loops:
        for node in ast.walk(loop):
            kept = _kept_name(node)
            if kept is not None and isinstance(node, ast.stmt):
                pattern = rf"\b{kept}\b(?!\s*[-+*]?=|\.)(?=[^=]*$)"
                patch = replaced(file, node.lineno, pattern, f"{kept}.detach()")
                found.append((node.lineno, patch, ast.unparse(node)))
    return found


def _kept_name(node: ast.AST) -> str | None:
    """The plain name whose value a statement keeps."""
    if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Name):
        return node.value.id
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target, left, right = node.targets[0], node.value.left, node.value.right
        is_sum = isinstance(target, ast.Name) and isinstance(right, ast.Name)
        if is_sum and ast.unparse(target) == ast.unparse(left):
            return ast.unparse(right)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function, arguments = node.value.func, node.value.args
        appends = isinstance(function, ast.Attribute) and function.attr == "append"
        if appends and len(arguments) == 1 and isinstance(arguments[0], ast.Name):
            return arguments[0].id
    return None

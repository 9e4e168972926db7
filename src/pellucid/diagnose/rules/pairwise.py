"""Pairwise distances computed from all differences, which are written to memory.

The patch sums squared differences as ``cdist`` does without a product: the same values.
By squares and a product it is faster still, but the distances between points that are
near to each other and far from the origin are lost.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod

from pellucid.diagnose.edits import enclosing, replaced_nodes, statement_at, tree_of
from pellucid.diagnose.findings import Finding, Patch, Replay
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE = 0.2
_DIMS = 3  # of the differences of two matrices
_LARGER = 8  # size of the difference relative to an operand
_MODE = "donot_use_mm_for_euclid_dist"
_DISTANCES = f"torch.cdist({{a}}, {{b}}, compute_mode='{_MODE}') ** 2"


def find(facts: Facts) -> list[Finding]:
    """``a[:, None] - b[None]`` reduced over the last axis."""
    findings = []
    for item in facts.items:
        shapes = [tuple(a.shape) for a in item.arguments if hasattr(a, "shape")]
        if not item.name.startswith("sub") or len(shapes) != 2 or item.line is None:
            continue
        shape = _of_all_pairs(*shapes)
        if shape is None:
            continue
        own = [item, *(other for other in facts.items if _reads(other, shape))]
        is_reduced = any(
            other.name.startswith(("sum", "mean", "norm")) for other in own
        )
        share = facts.share_of(sum(other.total for other in own))
        if share < _SHARE or not is_reduced:
            continue
        rows, columns, width = shape[-3:]
        findings.append(
            Finding.at(
                item.line.file,
                item.line.number,
                kind="bandwidth",
                evidence=f"{share:.0%} of the time: {len(own)} ops on differences of "
                f"{shape}",
                fix="torch.cdist(a, b), without the differences; by products, which is "
                "its faster mode, small distances lose accuracy",
                share=share,
                patch=_patch(item.line.file, item.line.number)
                if len(shape) == _DIMS
                else None,
                replay=Replay(
                    f"a = torch.randn({rows}, {width})\n"
                    f"b = torch.randn({columns}, {width})",
                    "((a[:, None] - b[None]) ** 2).sum(-1)",
                    _DISTANCES.format(a="a", b="b"),
                ),
            )
        )
    return findings


def _of_all_pairs(
    first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The shape of a difference for which both operands are broadcast, except along the
    last axis.
    """
    if len(first) != len(second) or len(first) < 3 or first[-1] != second[-1]:
        return None
    rows, columns = zip(first[-3:-1], second[-3:-1], strict=True)
    crossed = sorted(rows)[0] == sorted(columns)[0] == 1 and (
        (first[-2] == 1) != (second[-2] == 1)
    )
    shape = tuple(map(max, first, second))
    is_large = prod(shape) >= _LARGER * max(prod(first), prod(second))
    return shape if crossed and is_large else None


def _reads(item: Computation, shape: tuple[int, ...]) -> bool:
    return any(getattr(a, "shape", None) == shape for a in item.arguments)


def _patch(file: str, line: int) -> Patch | None:
    """The sum of squared differences of two matrices by a product; None where the
    differences are read in another way.
    """
    statement = statement_at(file, line)
    found = [n for n in ast.walk(statement) if _is_difference(n)] if statement else []
    if len(found) != 1:
        return None
    (difference,) = found
    scopes = enclosing(file, line, lambda n: isinstance(n, ast.FunctionDef))
    scope: ast.AST | None = scopes[-1] if scopes else tree_of(file)
    text = ast.unparse(difference)
    is_named = isinstance(statement, ast.Assign) and statement.value is difference
    if is_named and isinstance(statement.targets[0], ast.Name):  # type: ignore[union-attr]
        text = statement.targets[0].id  # type: ignore[union-attr]
    sums = [n for n in ast.walk(scope) if _squared(n) == text] if scope else []
    reads = [n for n in ast.walk(scope) if _is_read(n, text)] if scope else []
    inside = {id(n) for node in sums for n in ast.walk(node)}
    if not sums or any(id(read) not in inside for read in reads):
        return None
    operands = [side.value for side in (difference.left, difference.right)]  # type: ignore[attr-defined]
    if not all(isinstance(one, ast.Name | ast.Attribute) for one in operands):
        return None  # computed twice, or not at all times the same
    if not _has_torch(file) or _is_used_between(scope, operands, difference, sums):
        return None
    a, b = map(ast.unparse, operands)
    edits = [(node, f"({_DISTANCES.format(a=a, b=b)})") for node in sums]
    dropped = [(difference, "None")] if is_named else []
    return replaced_nodes(file, [*edits, *dropped])  # type: ignore[list-item]


def _has_torch(file: str) -> bool:
    """Whether the name ``torch`` is the package."""
    tree = tree_of(file)
    imports = (n for n in ast.walk(tree) if isinstance(n, ast.Import)) if tree else ()
    names = (alias for node in imports for alias in node.names)
    return any((alias.asname or alias.name) == "torch" for alias in names)


def _is_used_between(
    scope: ast.AST | None,
    operands: Sequence[ast.expr],
    difference: ast.AST,
    sums: Sequence[ast.AST],
) -> bool:
    """Whether operands occur, and may change, between their difference and its sums."""
    roots = {n.id for o in operands for n in ast.walk(o) if isinstance(n, ast.Name)}
    first, last = difference.end_lineno, max(node.lineno for node in sums)  # type: ignore[attr-defined]
    return any(
        isinstance(node, ast.Name) and node.id in roots and first < node.lineno < last
        for node in (ast.walk(scope) if scope else ())
    )


def _is_difference(node: ast.AST) -> bool:
    """``a[:, None] - b[None]`` of two matrices."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    if not all(isinstance(side, ast.Subscript) for side in (node.left, node.right)):
        return False
    first, second = (ast.unparse(side.slice) for side in (node.left, node.right))  # type: ignore[attr-defined]
    first, second = first.strip("()"), second.strip("()")
    return first in (":, None", ":, None, :") and second in ("None", "None, :, :")


def _squared(node: ast.AST) -> str:
    """The text of what is squared and summed over the last axis; "" of other nodes."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    given = [*node.args, *(k.value for k in node.keywords if k.arg in ("dim", "axis"))]
    is_last = [ast.unparse(argument) for argument in given] in (["-1"], ["2"])
    if node.func.attr != "sum" or not is_last or len(node.keywords) > len(given):
        return ""
    square = node.func.value
    if isinstance(square, ast.BinOp):
        left, right = ast.unparse(square.left), ast.unparse(square.right)
        is_power = isinstance(square.op, ast.Pow) and right == "2"
        is_product = isinstance(square.op, ast.Mult) and left == right
        return left if is_power or is_product else ""
    if isinstance(square, ast.Call) and isinstance(square.func, ast.Attribute):
        exponents = [ast.unparse(argument) for argument in square.args]
        if (square.func.attr, exponents) in (("pow", ["2"]), ("square", [])):
            return ast.unparse(square.func.value)
    return ""


def _is_read(node: ast.AST, text: str) -> bool:
    is_load = isinstance(getattr(node, "ctx", None), ast.Load)
    return isinstance(node, ast.Name) and is_load and node.id == text

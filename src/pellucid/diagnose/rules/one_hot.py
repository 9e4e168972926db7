"""A product with one-hot rows, which could be a lookup."""

from __future__ import annotations

import ast
import re

from pellucid.diagnose.edits import enclosing, indent_of, text_of, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_SHARE = 0.1
_Use = tuple[ast.BinOp | ast.Call, str]


def find(facts: Facts) -> list[Finding]:
    """Lines that multiply a result of ``one_hot``."""
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        for statement in ast.walk(tree) if tree else ():
            call = _one_hot(statement)
            if call is None:
                continue
            assert isinstance(statement, ast.Assign)
            uses = _products(file, statement)
            if uses is None:
                continue
            lines = {statement.lineno, *(use.lineno for use, _ in uses)}
            entries = [
                e for (f, n), e in facts.lines.items() if f == file and n in lines
            ]
            share = facts.share_of(sum(entry.total for entry in entries))
            if share < _SHARE or not call.args:
                continue
            ids = ast.unparse(call.args[0])
            findings.append(
                Finding.at(
                    file,
                    uses[0][0].lineno,
                    kind="waste",
                    evidence=f"{share:.0%} of the time makes one-hot rows and "
                    "multiplies them: all but one element of each are 0",
                    fix=f"look the rows up: {uses[0][1]}[{ids}]",
                    share=share,
                    patch=_patch(file, statement, uses, ids),
                )
            )
    return findings


def _one_hot(statement: ast.AST) -> ast.Call | None:
    """The call in ``name = one_hot(ids, n)``, possibly with a conversion."""
    if not isinstance(statement, ast.Assign):
        return None
    target, value = statement.targets[0], statement.value
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "one_hot":
            return value if isinstance(target, ast.Name) else None
        value = value.func.value
    return None


def _products(file: str, statement: ast.Assign) -> list[_Use] | None:
    """The products that read the rows, each with the table's text; None if something
    else reads them.
    """
    target = statement.targets[0]
    assert isinstance(target, ast.Name)
    functions = enclosing(
        file, statement.lineno, lambda n: isinstance(n, ast.FunctionDef)
    )
    scope: ast.AST | None = functions[-1] if functions else tree_of(file)
    uses: list[_Use] = []
    reads = 0
    for node in ast.walk(scope) if scope else ():
        is_name = isinstance(node, ast.Name) and node.id == target.id
        reads += int(is_name and isinstance(node.ctx, ast.Load))  # type: ignore[attr-defined]
        operands = _operands(node)
        first = operands[0] if operands else None
        if isinstance(first, ast.Name) and first.id == target.id:
            uses.append((node, ast.unparse(operands[1])))  # type: ignore[arg-type]
    return uses if uses and reads == len(uses) else None


def _operands(node: ast.AST) -> list[ast.expr]:
    """The operands of a product of two matrices."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and len(node.args) == 2:
        is_product = re.search(r"\b(matmul|mm)$", ast.unparse(node.func))
        return node.args if is_product else []
    return []


def _patch(
    file: str, statement: ast.Assign, uses: list[_Use], ids: str
) -> Patch | None:
    edits = [
        (
            statement.lineno,
            statement.end_lineno or statement.lineno,
            (f"{indent_of(file, statement.lineno)}pass",),
        )
    ]
    for node, table in uses:
        if node.lineno != node.end_lineno:
            return None
        text = text_of(file, node.lineno)
        new = text[: node.col_offset] + f"{table}[{ids}]" + text[node.end_col_offset :]
        edits.append((node.lineno, node.lineno, (new,)))
    lines = [first for first, *_ in edits]
    return Patch(file, tuple(edits)) if len(set(lines)) == len(lines) else None

"""Parameters that a Python loop updates one by one, one op at a time."""

from __future__ import annotations

import ast
import re

from pellucid.diagnose.edits import tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.2, 200
_PARAMETERS = re.compile(r"(parameters|state_dict)\(\)")


def find(facts: Facts) -> list[Finding]:
    """``for p in model.parameters():`` whose calls write the parameters."""
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        for loop in ast.walk(tree) if tree else ():
            if not updates_parameters(loop):
                continue
            first, last = loop.lineno, loop.end_lineno or loop.lineno  # type: ignore[attr-defined]
            entries = [
                entry
                for (name, number), entry in facts.lines.items()
                if name == file and first <= number <= last
            ]
            calls = sum(entry.calls_of() for entry in entries)
            share = facts.share_of(sum(entry.total for entry in entries))
            if share < _SHARE or calls < _CALLS:
                continue
            line = max(entries, key=lambda entry: entry.total).line.number
            findings.append(
                Finding.at(
                    file,
                    line,
                    kind="overhead",
                    evidence=f"{share:.0%} of the time: {calls} calls update "
                    "parameters one by one",
                    fix="torch.optim updates all in one call; torch._foreach_* run "
                    "each operation on all",
                    share=share,
                )
            )
    return findings


def updates_parameters(loop: ast.AST) -> bool:
    """Whether a loop goes over parameters and writes the tensors of its variables; a
    comprehension, whether it computes with them.
    """
    heads = [loop] if isinstance(loop, ast.For) else getattr(loop, "generators", [])
    heads = [head for head in heads if _PARAMETERS.search(ast.unparse(head.iter))]
    if not heads:
        return False
    own = {n.id for h in heads for n in ast.walk(h.target) if isinstance(n, ast.Name)}
    if not isinstance(loop, ast.For):
        return any(
            isinstance(node, ast.BinOp) and _names(node) & own
            for node in ast.walk(loop)
        )
    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and _root(node.target) in own:
            return True
        is_method = isinstance(node, ast.Attribute) and node.attr.endswith("_")
        if is_method and _root(node) in own and node.attr != "zero_":  # type: ignore[attr-defined]
            return True
    return False


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""

"""Tensors that a loop converts to lists or arrays and back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import enclosing, is_loop, text_of, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_READS = ("tolist", "numpy")
_MAKES = ("tensor", "as_tensor", "from_numpy", "FloatTensor", "asarray")
_SHARE = 0.1


def find(facts: Facts) -> list[Finding]:
    """``torch.tensor(name)`` of a result of ``.tolist()`` or ``.numpy()``, in loops."""
    findings = []
    for file in facts.files:
        for read, make, source in _round_trips(file):
            lines = range(read.lineno, (make.end_lineno or make.lineno) + 1)
            entries = [
                e for (f, n), e in facts.lines.items() if f == file and n in lines
            ]
            after = [e for e in entries if e.line.number in (read.lineno, make.lineno)]
            share = facts.share_of(sum(entry.total for entry in after))
            if share < _SHARE:
                continue
            text = text_of(file, make.lineno)
            new = (
                text[: make.col_offset]
                + f"({source}).detach()"
                + text[make.end_col_offset :]
            )
            is_one_line = make.lineno == make.end_lineno
            findings.append(
                Finding.at(
                    file,
                    make.lineno,
                    kind="copy",
                    evidence=f"{share:.0%} of the time takes tensors apart into Python "
                    "objects and makes tensors of them again",
                    fix=f"keep the tensor: {source}",
                    share=share,
                    patch=Patch(file, ((make.lineno, make.lineno, (new,)),))
                    if is_one_line
                    else None,
                )
            )
    return findings


def _round_trips(file: str) -> Iterator[tuple[ast.Assign | ast.Call, ast.Call, str]]:
    """(the reading call, the constructing call, the text of the tensor read)."""
    tree = tree_of(file)
    for make in ast.walk(tree) if tree else ():
        if not (isinstance(make, ast.Call) and isinstance(make.func, ast.Attribute)):
            continue
        if make.func.attr not in _MAKES or not make.args:
            continue
        loops = enclosing(file, make.lineno, is_loop)
        functions = enclosing(
            file, make.lineno, lambda n: isinstance(n, ast.FunctionDef)
        )
        scopes = loops or functions
        argument = make.args[0]
        source = _read_source(argument)
        if source and scopes:
            yield make, make, source
        elif isinstance(argument, ast.Name) and scopes:
            for node in ast.walk(scopes[-1]):
                if not isinstance(node, ast.Assign) or node.lineno > make.lineno:
                    continue
                is_own = ast.unparse(node.targets[0]) == argument.id
                source = _read_source(node.value) if is_own else ""
                if source:
                    yield node, make, source


def _read_source(value: ast.expr) -> str:
    """``x`` of ``x.tolist()``, ``x.detach().numpy().copy()``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in _READS:
            return ast.unparse(value.func.value)
        value = value.func.value
    return ""

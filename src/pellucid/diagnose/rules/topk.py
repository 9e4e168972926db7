"""A complete sort of which only the first elements are read."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import enclosing, statement_at, text_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_OPS = ("sort", "argsort", "msort")
_SHARE = 0.1


def find(facts: Facts) -> list[Finding]:
    """Sorts of which the program reads only a slice from the start."""
    findings = []
    for (file, number), entry in facts.lines.items():
        items = [item for item in entry.items if item.name.startswith(_OPS)]
        share = facts.share_of(sum(item.total for item in items))
        statement = statement_at(file, number) if items else None
        if share < _SHARE or not isinstance(statement, ast.Assign):
            continue
        wanted = _read_count(file, statement)
        if not wanted:
            continue
        calls = sum(item.calls for item in items)
        findings.append(
            Finding.at(
                file,
                number,
                kind="waste",
                evidence=f"{share:.0%} of the time: {calls} sorts, of which the first "
                f"{wanted} are read",
                fix=f"torch.topk(..., {wanted})",
                share=share,
                patch=_patch(file, statement, wanted),
            )
        )
    return findings


def _names(statement: ast.Assign) -> set[str]:
    return {n.id for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name)}


def _read_count(file: str, statement: ast.Assign) -> str:
    """How many of the first elements are read, as text; empty if others may be read."""
    names = _names(statement)
    functions = enclosing(
        file, statement.lineno, lambda n: isinstance(n, ast.FunctionDef)
    )
    from pellucid.diagnose.edits import tree_of

    scope = functions[-1] if functions else tree_of(file)
    reads, counts = 0, set()
    for node in ast.walk(scope) if scope else ():
        is_read = isinstance(node, ast.Name) and node.id in names
        reads += int(is_read and isinstance(node.ctx, ast.Load))  # type: ignore[attr-defined]
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            count = _first_ones(node.slice) if node.value.id in names else ""
            counts |= {count} if count else set()
            reads -= int(bool(count))
    inline = _inline_count(statement.value)
    if inline:
        return inline
    return counts.pop() if reads == 0 and len(counts) == 1 else ""


def _first_ones(index: ast.expr) -> str:
    """``k`` in ``[:k]``, ``[:, :k]``, ``[..., :k]``."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    *outer, last = parts
    is_whole = all(
        (isinstance(p, ast.Slice) and p.lower is p.upper is p.step is None)
        or (isinstance(p, ast.Constant) and p.value is Ellipsis)
        for p in outer
    )
    is_first = isinstance(last, ast.Slice) and last.lower is None and last.step is None
    if is_whole and is_first and last.upper is not None:  # type: ignore[attr-defined]
        return ast.unparse(last.upper)  # type: ignore[attr-defined]
    return ""


def _inline_count(value: ast.expr) -> str:
    """``k`` in ``x.argsort()[:k]``."""
    if isinstance(value, ast.Subscript) and _sort_call(value.value) is not None:
        return _first_ones(value.slice)
    return ""


def _sort_call(value: ast.expr) -> ast.Call | None:
    """The sorting call, possibly followed by ``.indices``, ``.values`` or ``[0]``."""
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value if value.func.attr in _OPS else None
    return None


def _patch(file: str, statement: ast.Assign, count: str) -> Patch | None:
    """The sorting call replaced by ``topk``; its readers do not change."""
    call = _sort_call(statement.value)
    if call is None or call.lineno != call.end_lineno:
        return None
    assert isinstance(call.func, ast.Attribute)
    keywords = {k.arg: ast.unparse(k.value) for k in call.keywords}
    of_module = ast.unparse(call.func.value) == "torch"
    arguments = [ast.unparse(argument) for argument in call.args]
    source = arguments.pop(0) if of_module else ast.unparse(call.func.value)
    dim = keywords.get("dim", arguments[0] if arguments else "-1")
    descending = keywords.get("descending", arguments[1] if arguments[1:] else "False")
    if descending not in ("True", "False") or set(keywords) - {
        "dim",
        "descending",
        "stable",
    }:
        return None
    new = f"torch.topk({source}, {count}, dim={dim}, largest={descending})"
    new += ".indices" if call.func.attr == "argsort" else ""
    text = text_of(file, call.lineno)
    text = text[: call.col_offset] + new + text[call.end_col_offset :]
    return Patch(file, ((call.lineno, call.lineno, (text,)),))

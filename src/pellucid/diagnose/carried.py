"""The statements of a loop that read what they computed in an earlier round: running
means and minima, states. Read by ``rules/monitoring.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def carried(body: Sequence[ast.stmt]) -> set[ast.stmt]:
    """Of a loop's statements those that read, by way of others too, a value that they
    computed in an earlier round.
    """
    read = [_read_first([statement], set()) for statement in body]
    bound = [set(_bound(statement)) for statement in body]
    makers = [_makers(place, read[place], body, bound) for place in range(len(body))]
    found = set()
    for place, statement in enumerate(body):
        reached: set[int] = set()
        left = [place]
        while left:
            more = makers[left.pop()] - reached
            reached |= more
            left += more
        if place in reached:
            found.add(statement)
    return found


def _makers(
    place: int, read: set[str], body: Sequence[ast.stmt], bound: Sequence[set[str]]
) -> set[int]:
    """The statements that made what one reads: those before it, if they bind the name
    in every round, else all that bind it.
    """
    makers: set[int] = set()
    for name in read:
        own = [k for k, names in enumerate(bound) if name in names]
        before = [k for k in own if k < place]
        is_new = any(isinstance(body[k], ast.Assign | ast.AnnAssign) for k in before)
        makers.update(before if is_new else own)
    return makers


def _read_first(statements: Sequence[ast.stmt], bound: set[str]) -> set[str]:
    """What statements read before they bind it; adds what they bind to ``bound``."""
    read: set[str] = set()
    for statement in statements:
        blocks = [b for b in ast.iter_child_nodes(statement) if isinstance(b, ast.stmt)]
        inner = set(blocks)
        heads = [n for n in ast.iter_child_nodes(statement) if n not in inner]
        read |= {name for head in heads for name in _loads(head)} - bound
        if isinstance(statement, ast.AugAssign):
            read |= set(_stores(statement.target)) - bound
        read |= set(_changed(statement)) - bound
        is_run = isinstance(statement, ast.With) or not blocks
        own = bound if is_run else set(bound)
        if isinstance(statement, ast.For):
            own |= set(_stores(statement.target))
        read |= _read_first(blocks, own)
        if not blocks:
            bound |= set(_bound(statement))
    return read


def _loads(node: ast.AST) -> Iterator[str]:
    return _texts(node, ast.Load)


def _stores(node: ast.AST) -> Iterator[str]:
    return _texts(node, ast.Store)


def _texts(node: ast.AST, context: type[ast.expr_context]) -> Iterator[str]:
    """Of the variables, attributes and items that a node reads, or binds."""
    for inner in ast.walk(node):
        is_place = isinstance(inner, ast.Name | ast.Attribute | ast.Subscript)
        if is_place and isinstance(inner.ctx, context):  # type: ignore[attr-defined]
            yield ast.unparse(inner)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The texts of what a statement binds or changes."""
    yield from _stores(statement)
    yield from _changed(statement)


def _changed(statement: ast.stmt) -> Iterator[str]:
    """The texts of objects that a statement changes in place: ``mean`` of
    ``mean.mul_(0.9).add_(x)``.
    """
    for node in ast.walk(statement):
        call = node.value if isinstance(node, ast.Expr) else None
        while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            method, call = call.func.attr, call.func.value
            is_change = method.endswith("_") and not method.endswith("__")
            if is_change and not isinstance(call, ast.Call):
                yield ast.unparse(call)

"""Whether the iterations of a loop depend on each other, by its syntax tree.

Independent: each iteration reads what was there before the loop and what it assigned
itself, and adds to totals and containers that it does not read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

ADDING = ("append", "add", "extend", "insert", "setdefault")
_CHANGING = ("pop", "popleft", "popitem", "remove", "clear", "update", "read", "next")
_TAKING = ("get", "get_nowait", "pop", "popleft")
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def is_independent(loop: ast.AST) -> bool:
    """Of a loop or a comprehension; False where the source does not show it."""
    if isinstance(loop, ast.While):
        drained = _as_for(loop)
        return drained is not None and is_independent(drained)
    if isinstance(loop, _COMPREHENSIONS):
        return not any(isinstance(n, ast.NamedExpr | ast.Await) for n in ast.walk(loop))
    if not isinstance(loop, ast.For) or _is_of_chunks(loop.iter):
        return False
    if any(isinstance(n, ast.Break | ast.Return | ast.Yield) for n in ast.walk(loop)):
        return False
    bound = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    totals: set[str] = set()
    reads: set[str] = set()
    for statement in loop.body:
        if not _follow(statement, bound, totals, reads):
            return False
    assigned_later = {name for name in _stored(loop) if name not in totals}
    carried = {name for name in reads if name in assigned_later}
    return not carried and not totals & reads


def _as_for(loop: ast.While) -> ast.For | None:
    """A loop that takes items from a container until that is empty, as one over its
    items; None of others.
    """
    tested = {ast.unparse(n) for n in ast.walk(loop.test) if isinstance(n, ast.expr)}
    takes = [
        node
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _TAKING
        and ast.unparse(node.func.value) in tested
    ]
    if len(takes) != 1:
        return None
    owner = takes[0].func.value  # type: ignore[attr-defined]
    item = ast.Name("_item", ast.Load())
    text, taken = ast.unparse(ast.Module(loop.body, [])), ast.unparse(takes[0])
    body = ast.parse(text.replace(taken, item.id)).body
    uses = [n for s in body for n in ast.walk(s) if isinstance(n, ast.expr)]
    if any(ast.unparse(use) == ast.unparse(owner) for use in uses):
        return None  # what it takes is not all that it does to the container
    return ast.For(ast.Name(item.id, ast.Store()), owner, body, [])


def _is_of_chunks(iterable: ast.expr) -> bool:
    """Whether a loop goes over slices: ``range(0, n, size)``, ``split``, ``chunk``."""
    if not isinstance(iterable, ast.Call):
        return False
    name = ast.unparse(iterable.func).rpartition(".")[2]
    is_strided = name == "range" and len(iterable.args) == 3
    return is_strided or name in ("split", "chunk", "iter")


def _follow(node: ast.stmt, bound: set[str], totals: set[str], reads: set[str]) -> bool:
    """Adds a statement's effects; ``reads``: names read before an iteration assigned
    them. False if it changes objects from outside of the loop in another way.
    """
    if isinstance(node, ast.AugAssign):
        _read(node.value, bound, reads)
        return _written(node.target, bound, totals, reads)
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if not _is_total(target, node.value, bound, totals, reads):
                _read(node.value, bound, reads)
                if not _written_or_bound(target, bound, totals, reads):
                    return False
        return not _changes_outside(node.value, bound)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _called(node.value, bound, totals, reads)
    if isinstance(node, ast.If | ast.With | ast.For | ast.While | ast.Try):
        for header in _headers(node):
            _read(header, bound, reads)
        if isinstance(node, ast.For):
            bound |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        blocks = (getattr(node, name, []) for name in ("body", "orelse", "finalbody"))
        return all(_follow(s, bound, totals, reads) for block in blocks for s in block)
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Global | ast.Nonlocal):
        return False
    _read(node, bound, reads)
    return not _changes_outside(node, bound)


def _headers(node: ast.stmt) -> Iterator[ast.AST]:
    for name in ("test", "iter", "items"):
        value = getattr(node, name, None)
        yield from value if isinstance(value, list) else [value] if value else []


def _read(node: ast.AST, bound: set[str], reads: set[str]) -> None:
    for inner in ast.walk(node):
        is_load = isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
        if is_load and inner.id not in bound:  # type: ignore[attr-defined]
            reads.add(inner.id)  # type: ignore[attr-defined]


def _is_total(
    target: ast.expr,
    value: ast.expr,
    bound: set[str],
    totals: set[str],
    reads: set[str],
) -> bool:
    """``total = total + x``, ``best = max(best, x)``, ``sums[i] = sums[i] + x``."""
    root = target
    while isinstance(root, ast.Subscript):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in bound:
        return False
    parts: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [value.left, value.right]
    elif isinstance(value, ast.Call):
        name = ast.unparse(value.func).rpartition(".")[2]
        parts = value.args if name in ("max", "min", "maximum", "minimum") else []
    own = [part for part in parts if ast.unparse(part) == ast.unparse(target)]
    if not own:
        return False
    for part in parts:
        if part is not own[0]:
            _read(part, bound, reads)
    for inner in ast.walk(target):
        if isinstance(inner, ast.Subscript):
            _read(inner.slice, bound, reads)
    totals.add(root.id)
    return True


def accumulates_items(loop: ast.AST) -> bool:
    """Whether iterations add to items of a container that the loop does not make, at
    indices of their own.
    """
    made = _stored(loop) if isinstance(loop, ast.For) else set()
    for node in ast.walk(loop):
        item = node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(item, ast.Subscript) and ast.unparse(item.value) not in made:
            return True
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            parts = ast.walk(node.value)
            target = ast.unparse(node.targets[0])
            if any(ast.unparse(p) == target for p in parts if isinstance(p, ast.expr)):
                return True
    return False


def _written(
    target: ast.expr, bound: set[str], totals: set[str], reads: set[str]
) -> bool:
    """An item, an attribute or a total that an iteration writes."""
    root = target
    while isinstance(root, ast.Subscript | ast.Attribute):
        if isinstance(root, ast.Subscript):
            _read(root.slice, bound, reads)
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    if root.id not in bound:
        totals.add(root.id)
    return True


def _written_or_bound(
    target: ast.expr, bound: set[str], totals: set[str], reads: set[str]
) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(_written_or_bound(t, bound, totals, reads) for t in target.elts)
    if isinstance(target, ast.Name):
        bound.add(target.id)
        return True
    return _written(target, bound, totals, reads)


def _called(call: ast.Call, bound: set[str], totals: set[str], reads: set[str]) -> bool:
    """A call as a statement: ``results.append(x)``, ``x.mul_(2)`` of a bound name."""
    function = call.func
    for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
        _read(argument, bound, reads)
    if isinstance(function, ast.Attribute):
        if function.attr in ADDING:
            return _written(function.value, bound, totals, reads)
        _read(function.value, bound, reads)
    return not _changes_outside(call, bound)


def _changes_outside(node: ast.AST, bound: set[str]) -> bool:
    """Whether it calls methods that change objects from outside of the loop."""
    for inner in ast.walk(node):
        is_call = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
        if not is_call:
            continue
        name, owner = inner.func.attr, inner.func.value  # type: ignore[attr-defined]
        while isinstance(owner, ast.Subscript | ast.Attribute | ast.Call):
            owner = owner.func if isinstance(owner, ast.Call) else owner.value
        is_own = isinstance(owner, ast.Name) and owner.id in bound
        if is_changing(name) and not is_own:
            return True
    return False


def is_changing(method: str) -> bool:
    """Whether a method of this name changes its object: ``pop``, ``mul_``."""
    is_in_place = method.endswith("_") and not method.startswith("_")
    return method in _CHANGING or is_in_place


def _stored(loop: ast.For) -> set[str]:
    return {
        n.id
        for statement in loop.body
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }

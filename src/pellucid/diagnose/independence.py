"""Whether the iterations of a loop depend on each other, by its syntax tree.

Independent: each iteration reads what was there before the loop and what it assigned
itself, and adds to totals and containers that it does not read.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pellucid.diagnose.patterns import MODULES

ADDING = ("append", "add", "extend", "insert", "setdefault")
_CHANGING = ("pop", "popleft", "popitem", "remove", "clear", "update", "read", "next")
_TAKING = ("get", "get_nowait", "pop", "popleft")
_LEFT = ("len", "empty", "qsize")  # calls that ask what a container still has
_ITEM = "<item>"  # no name of a program
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def is_independent(loop: ast.AST, tree: ast.Module | None) -> bool:
    """Of a loop or a comprehension of a tree; False where the source does not show
    it.
    """
    if isinstance(loop, ast.While):
        drained = _as_for(loop, tree) if tree is not None else None
        return drained is not None and is_independent(drained, tree)
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
    if tree is not None:
        called = _reads_of_called(loop, tree)
        if called is None:
            return False
        reads |= called
    assigned_later = {name for name in _stored(loop) if name not in totals}
    carried = {name for name in reads if name in assigned_later}
    return not carried and not totals & reads


def _reads_of_called(loop: ast.AST, tree: ast.AST) -> set[str] | None:
    """The names that functions of a tree read from outside of them: those that a loop
    names, and those that these name; None if one binds such names.
    """
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    named = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name)}
    reads: set[str] = set()
    while called := [f for f in functions if f.name in named | reads]:
        functions = [f for f in functions if f not in called]
        for nodes in (list(ast.walk(function)) for function in called):
            if any(isinstance(n, ast.Global | ast.Nonlocal) for n in nodes):
                return None
            names = [n for n in nodes if isinstance(n, ast.Name)]
            own = {n.arg for n in nodes if isinstance(n, ast.arg)}
            own |= {n.id for n in names if _is_store(n)}
            reads |= {n.id for n in names if n.id not in own}
    return reads


def _as_for(loop: ast.While, tree: ast.AST) -> ast.For | None:
    """A loop that takes items from a container until that is empty, as one over its
    items; None of others, and where the container may be given more of them: by a name
    that it has besides, or by a function that the loop calls.
    """
    nodes = [n for statement in loop.body for n in ast.walk(statement)]
    taken = [n for n in nodes if isinstance(n, ast.Call) and _takes(n, loop.test)]
    if len(taken) != 1:
        return None
    if not all(_is_harmless(call, tree) for call in _calls(loop, taken[0])):
        return None
    owner = taken[0].func.value  # type: ignore[attr-defined]
    tested = {n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)}
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and _is_store(n)}
    nested = [s for s in loop.body if hasattr(s, "body") and taken[0] in ast.walk(s)]
    if tested & stored or nested or _has_other_names(owner, tree):
        return None
    body = _with_item(loop.body, taken[0])
    root = ast.unparse(owner).partition(".")[0]
    for used in (n for statement in body for n in ast.walk(statement)):
        if isinstance(used, ast.Name) and used.id == root:
            return None  # what it takes is not all that it does to the container
    return ast.For(ast.Name(_ITEM, ast.Store()), owner, body, [])


def _with_item(node: object, taken: ast.Call) -> Any:
    """A copy of a part of a tree, with an item's name for the call that takes it."""
    if node is taken:
        return ast.Name(_ITEM, ast.Load())
    if isinstance(node, list):
        return [_with_item(one, taken) for one in node]
    if not isinstance(node, ast.AST):
        return node
    fields = {name: _with_item(own, taken) for name, own in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**fields), node)


def _takes(call: ast.Call, test: ast.expr) -> bool:
    """Whether a call takes an item of a container that a condition reads."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _TAKING:
        return False
    is_end = call.func.attr == "pop" and [ast.unparse(a) for a in call.args] == ["0"]
    if call.keywords or (call.args and not is_end):
        return False  # of a dict, by its key
    container = ast.dump(call.func.value)
    tested = (n for n in ast.walk(test) if isinstance(n, ast.Name | ast.Attribute))
    return any(ast.dump(node) == container for node in tested)


def _calls(loop: ast.While, taken: ast.Call) -> Iterator[ast.Call]:
    """The calls that a loop makes, but for those that ask for what is left."""
    for node in ast.walk(loop.test):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if name and name.rpartition(".")[2] not in _LEFT:
            yield node  # type: ignore[misc]
    for node in (n for statement in loop.body for n in ast.walk(statement)):
        if isinstance(node, ast.Call) and node is not taken:
            yield node


def _is_harmless(call: ast.Call, tree: ast.AST) -> bool:
    """Whether a called function is none of the program's: one of a module, a builtin
    one, a tensor's method, by its name, or one that adds to a list that is known.
    """
    function = call.func
    if isinstance(function, ast.Name):
        return hasattr(builtins, function.id)
    if not isinstance(function, ast.Attribute):
        return False
    if ast.unparse(function).partition(".")[0] in MODULES:
        return True
    if function.attr in ADDING:
        return _is_list(function.value, tree)
    return function.attr in _tensor_methods()


@cache
def _tensor_methods() -> frozenset[str]:
    import pellucid as torch

    return frozenset(dir(torch.Tensor))


def _is_list(container: ast.expr, tree: ast.AST) -> bool:
    """Whether all that a program binds to a name is lists or sets of its own."""
    values = [v for name, v in _assigned(tree) if name == ast.unparse(container)]
    kinds = ast.List | ast.Set | ast.ListComp | ast.SetComp
    return bool(values) and all(
        isinstance(v, kinds) or ast.unparse(v) in ("set()", "list()") for v in values
    )


def _has_other_names(container: ast.expr, tree: ast.AST) -> bool:
    """Whether a program binds a container, or one of its methods, to a name."""
    values = [value for _, value in _assigned(tree)]
    values += [v.value for v in values if isinstance(v, ast.Attribute)]
    return any(ast.dump(value) == ast.dump(container) for value in values)


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The targets of a tree's assignments, and what they are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from _parts(node.targets, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield ast.unparse(node.target), node.value


def _parts(
    targets: Sequence[ast.expr], value: ast.expr
) -> Iterator[tuple[str, ast.expr]]:
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for own, part in zip(target.elts, value.elts, strict=False):
                yield from _parts([own], part)
        else:
            yield ast.unparse(target), value


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


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
    """``total = total + x - y``, ``best = max(best, x)``, ``sums[i] = sums[i] + x``."""
    root = target
    while isinstance(root, ast.Subscript):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in bound:
        return False
    parts = list(_terms(value))
    if isinstance(value, ast.Call):
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


def _terms(value: ast.expr) -> Iterator[ast.expr]:
    """What a sum adds and subtracts: of ``total + 1 - x`` its three terms. A value that
    is subtracted whole, as in ``1 - total``, is one term with its sign.
    """
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add | ast.Sub):
        yield value
        return
    yield from _terms(value.left)
    if isinstance(value.op, ast.Add):
        yield from _terms(value.right)
    else:
        yield ast.UnaryOp(ast.USub(), value.right)


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

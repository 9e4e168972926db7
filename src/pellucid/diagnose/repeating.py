"""Whether Python's work at a statement is the same in every round of a loop: by the
source, of the frames that a program was in. Read by ``rules/python_time.py``.

Work differs from round to round if it reads what the program changes meanwhile (the
state of an environment, a window of the last results), what it draws or takes from a
queue, or what an earlier round computed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pellucid.diagnose.carried import carried
from pellucid.diagnose.edits import (
    called_names,
    enclosing,
    is_loop,
    statement_at,
    tree_of,
)
from pellucid.diagnose.independence import ADDING, is_changing

Place = tuple[str, int]
# Parts of the names of functions whose results differ from call to call, and names of
# those that take the next of something.
_DRAWN = (
    *("rand", "rng", "sample", "choice", "shuffle", "permutation", "normal", "time"),
    *("uniform", "integers", "augment", "generate", "noise"),
)
_TAKING = ("next", "recv", "readline", "input", "get_nowait", "reset")
_CHANGING = ("appendleft", "extendleft", "rotate", "discard", "reverse", "sort")
_Function = ast.FunctionDef


def is_same_work(frames: Sequence[Place]) -> bool:
    """Whether a loop over numbers that nothing reads, such as one over epochs, is
    around one of some frames, the innermost first, and the work in it reads nothing
    that differs from round to round.
    """
    return any(_is_same_in_loops(frames, depth) for depth in range(len(frames)))


def _is_same_in_loops(frames: Sequence[Place], depth: int) -> bool:
    """The same of the loops around one frame."""
    file, line = frames[depth]
    loops = enclosing(file, line, is_loop)
    if not loops:
        return False
    within = [*_within_functions(frames[:depth])]
    made, read = _sources(loops[0], statement_at(file, line) or loops[-1])
    names = read | {name for node in within for name in _read_outside(node)}
    counted = {
        name
        for loop in loops
        if isinstance(loop, ast.For) and _counts(loop)
        for name in _names(loop.target, ast.Store)
    }
    if not counted - names:
        return False
    files = {place[0] for place in frames}
    changed = {name for one in files for name in changed_names(tree_of(one))}
    called = {
        name
        for node in [*map(_computed, made), *within]
        for name in called_names(file, node)
    }
    return not names & (changed | _carried(loops)) and not any(map(_is_drawn, called))


def changed_names(tree: ast.Module | None) -> set[str]:
    """The attributes that a program changes outside of ``__init__``, and the variables
    of its module, or of functions around, whose objects it changes in place.
    """
    found: set[str] = set()
    functions = [n for n in ast.walk(tree) if isinstance(n, _Function)] if tree else []
    for scope in (tree, *functions):
        if scope is None or getattr(scope, "name", "") == "__init__":
            continue
        bound = _bound(scope) if isinstance(scope, _Function) else set()
        for node in _own_nodes(scope):
            root = _changed(node)
            if isinstance(root, ast.Attribute):
                found.add(root.attr)
            elif isinstance(root, ast.Name) and root.id not in bound:
                found.add(root.id)
    return found


def _changed(node: ast.AST) -> ast.expr | None:
    """What a node changes: the object of a method, of an item, an attribute."""
    root: ast.expr | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in (*ADDING, *_CHANGING) or is_changing(name):
            root = node.func.value
    elif isinstance(node, ast.AugAssign):
        root = node.target
    elif isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        root = None if isinstance(node, ast.Name) else node  # type: ignore[assignment]
    while isinstance(root, ast.Subscript):
        root = root.value
    return root


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module, without those of functions in it."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, _Function):
            yield from _own_nodes(node)


def _within_functions(frames: Sequence[Place]) -> Iterator[_Function]:
    """The innermost function around each of some frames."""
    for file, line in frames:
        found = enclosing(file, line, lambda node: isinstance(node, _Function))
        if found:
            yield found[-1]  # type: ignore[misc]


def _sources(loop: ast.stmt, wanted: ast.stmt) -> tuple[list[ast.stmt], set[str]]:
    """The statements of a loop from which a statement in it gets what it reads, itself
    included, and the names that they read.
    """
    simple = [n for n in ast.walk(loop) if isinstance(n, ast.stmt) and n is not loop]
    simple = [n for n in simple if not hasattr(n, "body") or isinstance(n, ast.For)]
    made: list[ast.stmt] = []
    read: set[str] = set()
    left = [wanted]
    while left:
        statement = left.pop()
        made.append(statement)
        read |= _reads(statement)
        left += [s for s in simple if s not in [*made, *left] and _binds(s) & read]
    return made, read


def _reads(statement: ast.stmt) -> set[str]:
    """The variables and attributes that a statement, or a loop's head, reads; not the
    containers that it only adds to.
    """
    node = _computed(statement)
    added = {
        id(call.func.value)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in ADDING
    }
    return {
        inner.id if isinstance(inner, ast.Name) else inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name | ast.Attribute)
        if isinstance(inner.ctx, ast.Load) and id(inner) not in added
    }


def _computed(statement: ast.stmt) -> ast.AST:
    """A statement; of a loop what it goes over."""
    return statement.iter if isinstance(statement, ast.For) else statement


def _binds(statement: ast.stmt) -> set[str]:
    node = statement.target if isinstance(statement, ast.For) else statement
    return _names(node, ast.Store)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, context)}


def _bound(function: ast.AST) -> set[str]:
    """The variables that a function makes: its arguments are the caller's."""
    return {
        name
        for node in _own_nodes(function)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.withitem)
        for name in _binds(node)  # type: ignore[arg-type]
    }


def _read_outside(function: _Function) -> set[str]:
    """The attributes and the outer variables that a function reads."""
    own = _bound(function) | {n.arg for n in ast.walk(function.args) if _is_arg(n)}  # type: ignore[attr-defined]
    return {
        inner.id if isinstance(inner, ast.Name) else inner.attr
        for inner in _own_nodes(function)
        if isinstance(inner, ast.Name | ast.Attribute)
        if not (isinstance(inner, ast.Name) and inner.id in own)
    }


def _is_arg(node: ast.AST) -> bool:
    return isinstance(node, ast.arg)


def _counts(loop: ast.For) -> bool:
    """Whether a loop goes over numbers."""
    head = ast.unparse(loop.iter)
    return head.startswith(("range(", "itertools.count(", "count("))


def _carried(loops: Sequence[ast.stmt]) -> set[str]:
    """The names that loops bind from what an earlier round bound."""
    return {
        name
        for loop in loops
        for statement in carried(loop.body)  # type: ignore[attr-defined]
        for name in _names(statement, ast.Store)
        if not isinstance(statement, ast.For | ast.While)
    }


def _is_drawn(name: str) -> bool:
    return name in _TAKING or any(part in name.lower() for part in _DRAWN)

"""Traversals of expressions: walking, rewriting, and what there is below an Expr.

Nothing recurses, since expressions may nest to any depth, and a pass skips what it
would not change by the bits of ``below``. Read next: ``evaluate.py``, ``show.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from pellucid_compiler.ir.expr import (
    AXES,
    CHECKED,
    FIRST_AXIS,
    HAND_PARTIALS,
    LEAVES,
    LOADED,
    LOADS,
    Expr,
    const,
    intern_expr,
    load_index,
    rebuild,
    select,
)

T = TypeVar("T")

Leaf: TypeAlias = "Callable[[Expr, tuple[Expr, ...]], Expr | None]"


def value_operands(e: Expr) -> tuple[Expr, ...]:
    """The operands that are values: of a load, its value out of bounds."""
    return e.args[len(load_index(e)) :] if e.op in LOADS else e.args


def with_operand(e: Expr, operand: Any, args: tuple[Expr, ...]) -> Expr:
    """The same kind of load from another operand."""
    return intern_expr(e.op, args, operand, e.dtype)


def bottom_up(
    root: Expr,
    memo: dict[Expr, T],
    operands: Callable[[Expr], Iterable[Expr]],
    make_result: Callable[[Expr], T],
) -> T:
    """``memo[root]``, where ``memo[e]`` is ``make_result(e)`` once the results of
    ``operands(e)`` are in ``memo``.

    Expressions may nest to any depth: nothing recurses. ``operands`` may return some
    first and others once these are known.
    """
    stack = [root]
    while stack:
        e = stack[-1]
        if e not in memo:
            missing = [a for a in operands(e) if a not in memo]
            if missing:
                stack += missing[::-1]
                continue
            memo[e] = make_result(e)
        stack.pop()
    return memo[root]


def rewrite(
    e: Expr, leaf: Leaf, memo: dict[Expr, Expr] | None = None, within: int = 0
) -> Expr:
    """Rebuild ``e``; ``leaf(node, new_args)`` may replace an axis, sym or load.

    ``within``: bits of ``below``, if ``leaf`` replaces nothing in expressions with none
    of them.
    """
    memo = {} if memo is None else memo
    stack = [e]  # like ``bottom_up``, inlined: most of tracing is here
    while stack:
        node = stack[-1]
        if node not in memo:
            if within and not node.below & within:
                memo[node] = node
            elif missing := [a for a in node.args if a not in memo]:
                stack += missing[::-1]
                continue
            else:
                memo[node] = _rewritten(node, leaf, memo)
        stack.pop()
    return memo[e]


def _rewritten(node: Expr, leaf: Leaf, memo: Mapping[Expr, Expr]) -> Expr:
    args = tuple([memo[a] for a in node.args])
    if node.op in LEAVES:
        new = leaf(node, args)
        if new is not None:
            return new
    return rebuild(node, args) if args else node


def substitute(e: Expr, replacement: Mapping[Expr, Expr]) -> Expr:
    """``e`` with some of its nodes replaced."""
    return rewrite(e, lambda node, args: None, dict(replacement))


def without_partials(e: Expr) -> Expr:
    """``e`` as it is computed: hand partials matter only for differentiation."""
    memo: dict[Expr, Expr] = {}

    def operands(node: Expr) -> tuple[Expr, ...]:
        if not node.below & HAND_PARTIALS:
            return ()
        return node.args[:1] if node.op == "with_partials" else node.args

    def stripped(node: Expr) -> Expr:
        if not node.below & HAND_PARTIALS:
            return node
        if node.op == "with_partials":
            return memo[node.args[0]]
        return rebuild(node, tuple([memo[a] for a in node.args]))

    return bottom_up(e, memo, operands, stripped)


def has_checks(*roots: Expr) -> bool:
    """Whether there are checks below ``roots``."""
    return any(root.below & CHECKED for root in roots)


def without_checks(e: Expr) -> Expr:
    """``e`` as it is computed if all of its checks hold."""
    memo: dict[Expr, Expr] = {}

    def operands(node: Expr) -> tuple[Expr, ...]:
        if not node.below & CHECKED:
            return ()
        return node.args[:1] if node.op == "checked" else node.args

    def stripped(node: Expr) -> Expr:
        if not node.below & CHECKED:
            return node
        args = tuple([memo[a] for a in operands(node)])
        if node.op == "checked":
            return args[0]
        return intern_expr(node.op, args, node.attr, node.dtype)

    return bottom_up(e, memo, operands, stripped)


def conditions_checked(*roots: Expr) -> list[tuple[Any, Expr]]:
    """The checks of ``roots``, as (check, condition): the condition holds wherever a
    ``select`` does not need the value.
    """
    found: dict[tuple[Any, Expr], None] = {}
    left: list[tuple[Expr, Expr]] = [(root, const(True)) for root in reversed(roots)]
    seen: set[tuple[Expr, Expr]] = set()
    while left:
        e, needed = left.pop()
        if not e.below & CHECKED or (e, needed) in seen:
            continue
        seen.add((e, needed))
        if e.op == "checked":
            holds = select(needed, without_checks(e.args[1]), True)
            found[e.attr, holds] = None
        if e.op != "select":
            left += [(a, needed) for a in reversed(e.args)]
            continue
        chosen = without_checks(e.args[0])
        left += [
            (e.args[2], needed & ~chosen),
            (e.args[1], needed & chosen),
            (e.args[0], needed),
        ]
    return list(found)


def walk(*roots: Expr) -> list[Expr]:
    """Every node below ``roots`` once, operands before users."""
    return list(_walk(roots, {}))


def _walk(
    roots: tuple[Expr, ...], order: dict[Expr, None], within: int = -1
) -> dict[Expr, None]:
    stack = [*reversed(roots)]
    while stack:
        e = stack[-1]
        if e not in order:
            if e.args and (within < 0 or e.below & within):
                missing = [a for a in e.args if a not in order]
                if missing:
                    stack += missing[::-1]
                    continue
            order[e] = None
        stack.pop()
    return order


def preorder(
    roots: Iterable[Expr], operands: Callable[[Expr], tuple[Expr, ...]]
) -> dict[Expr, None]:
    """``roots`` and their transitive ``operands``, once each, users before operands."""
    found: dict[Expr, None] = {}
    stack = [*roots][::-1]
    while stack:
        e = stack.pop()
        if e not in found:
            found[e] = None
            stack += operands(e)[::-1]
    return found


def loads(*roots: Expr) -> list[Expr]:
    """The distinct loads below ``roots``, in order of evaluation."""
    return [e for e in _walk(roots, {}, LOADED) if e.op in LOADS]


def checked_loads(body: Expr) -> set[Expr]:
    """The loads that every point executes: if one were out of bounds, the loop would
    have raised an error.
    """
    executed = preorder([body], lambda e: e.args[:1] if e.op == "select" else e.args)
    return {e for e in executed if e.op == "load"}


def symbols(*roots: Expr) -> list[Expr]:
    """The distinct syms below ``roots``."""
    return [e for e in walk(*roots) if e.op == "sym"]


def axes_of(*roots: Expr) -> set[int]:
    """The numbers of the loop axes below ``roots``."""
    below = 0
    for root in roots:
        below |= root.below
    bits = below >> FIRST_AXIS
    return {a for a in range(bits.bit_length()) if bits >> a & 1}


def uses_axis(e: Expr, axes: Iterable[int]) -> bool:
    """Whether ``e`` depends on one of the loop axes."""
    bits = e.below >> FIRST_AXIS
    return any(bits >> a & 1 for a in axes)


def is_uniform(e: Expr) -> bool:
    """Whether ``e`` is the same at every point of the loop."""
    return not e.below & (LOADED | AXES)

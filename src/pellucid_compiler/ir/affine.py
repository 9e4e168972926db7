"""Affine reasoning about index and size expressions.

``linear_in`` splits an index into ``factor * axis + rest``; ``Bounds`` proves
comparisons of indices over an iteration space, so that guards that always hold
disappear. Called by gather_form.py, build.py and kinds.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pellucid_compiler.ir.expr import Expr, const, is_const
from pellucid_compiler.ir.traversal import bottom_up, uses_axis

# A polynomial: product of atoms (sorted by their text) -> integer coefficient.
Polynomial: TypeAlias = "dict[tuple[Expr, ...], int]"

_ARITHMETIC = ("add", "sub", "mul", "neg")


def linear_in(e: Expr, axis_number: int) -> tuple[Expr, Expr] | None:
    """(factor, rest), free of the axis, with ``e = factor * axis + rest``; or None."""
    memo: dict[Expr, tuple[Expr, Expr] | None] = {}

    def operands(node: Expr) -> tuple[Expr, ...]:
        follows = node.op in _ARITHMETIC and uses_axis(node, {axis_number})
        return node.args if follows else ()

    def parts(node: Expr) -> tuple[Expr, Expr] | None:
        if node.op == "axis" and node.attr == axis_number:
            return const(1, "int64"), const(0, "int64")
        if not uses_axis(node, {axis_number}):
            return const(0, "int64"), node
        if node.op not in _ARITHMETIC:
            return None
        return _linear_of(node.op, memo[node.args[0]], memo[node.args[-1]])

    return bottom_up(e, memo, operands, parts)


def _linear_of(
    op: str, first: tuple[Expr, Expr] | None, last: tuple[Expr, Expr] | None
) -> tuple[Expr, Expr] | None:
    if first is None or last is None:
        return None
    (f, r), (g, s) = first, last
    if op == "neg":
        return -f, -r
    if op == "add":
        return f + g, r + s
    if op == "sub":
        return f - g, r - s
    if is_const(f, 0):
        return r * g, r * s
    return (f * s, r * s) if is_const(g, 0) else None


def polynomial(e: Expr) -> Polynomial:
    """``e`` as a polynomial over its syms, axes and non-arithmetic subexpressions."""
    memo: dict[Expr, Polynomial] = {}

    def operands(node: Expr) -> tuple[Expr, ...]:
        return node.args if node.op in _ARITHMETIC else ()

    def terms(node: Expr) -> Polynomial:
        if node.op == "const":
            return {(): int(node.attr)} if node.attr else {}
        parts = [memo[a] for a in operands(node)]
        if node.op in ("add", "sub"):
            return _sum(parts[0], parts[1], node.op == "sub")
        if node.op == "neg":
            return _sum({}, parts[0], True)
        return _product(parts[0], parts[1]) if node.op == "mul" else {(node,): 1}

    return bottom_up(e, memo, operands, terms)


def _sum(a: Polynomial, b: Polynomial, subtract: bool) -> Polynomial:
    out = dict(a)
    for term, coefficient in b.items():
        total = out.get(term, 0) + (-coefficient if subtract else coefficient)
        if total:
            out[term] = total
        else:
            out.pop(term, None)
    return out


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for s, c in a.items():
        for t, d in b.items():
            out = _sum(out, {_sorted((*s, *t)): c * d}, False)
    return out


def _sorted(atoms: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The atoms in an order that is the same in every run of the program."""
    return tuple(sorted(atoms, key=repr)) if len(atoms) > 1 else atoms


def simplify(e: Expr) -> Expr:
    """An index with its terms cancelled and collected, in a fixed order."""
    if e.dtype != "int64" or e.op not in _ARITHMETIC:
        return e
    terms = polynomial(e)
    out: Expr = const(0, e.dtype)
    for term, coefficient in terms.items():
        product: Expr = const(1, e.dtype)
        for atom in term:
            product = product * atom
        if coefficient < 0 and out.op != "const":
            out = out - product * -coefficient
        else:
            out = out + product * coefficient
    return out


class Bounds:
    """Facts that hold at every point of an iteration space: axes are within extents.

    Sizes are known not to be negative; ``facts`` are comparisons that hold in addition.
    A proof is sound but not complete.
    """

    def __init__(self, extents: Sequence[Expr], facts: Sequence[Expr] = ()) -> None:
        self.extents = extents
        self.facts = [p for fact in facts if (p := _difference(fact)) is not None]

    def is_nonnegative(self, e: Expr) -> bool:
        """Whether ``e >= 0`` at every point (if the space is not empty)."""
        return self._nonnegative(polynomial(e))

    def is_less(self, a: Expr, b: Expr) -> bool:
        """Whether ``a < b`` at every point."""
        return self._nonnegative(
            _sum(_sum(polynomial(b), polynomial(a), True), {(): 1}, True)
        )

    def is_inside(self, index: Expr, size: Expr) -> bool:
        """Whether ``0 <= index < size`` at every point."""
        return self.is_nonnegative(index) and self.is_less(index, size)

    def decide(self, condition: Expr) -> bool | None:
        """Whether a comparison of indices always (never) holds; None: undecided."""
        known: dict[Expr, bool | None] = {}

        def operands(e: Expr) -> tuple[Expr, ...]:
            return e.args if e.op in ("and", "or", "not") else ()

        def settled(e: Expr) -> bool | None:
            if e.op == "const":
                return bool(e.attr)
            parts = [known[a] for a in operands(e)]
            if e.op == "not":
                return None if parts[0] is None else not parts[0]
            return _decide_logic(e.op, parts) if parts else self._compare(e)

        return bottom_up(condition, known, operands, settled)

    def _compare(self, condition: Expr) -> bool | None:
        if condition.op not in ("lt", "le", "eq", "ne"):
            return None
        a, b = condition.args
        if a.dtype != "int64":
            return None
        if condition.op == "lt":
            return _settled(self.is_less(a, b), self._is_at_most(b, a))
        if condition.op == "le":
            return _settled(self._is_at_most(a, b), self.is_less(b, a))
        same = not _sum(polynomial(a), polynomial(b), True)
        equal = _settled(same, self.is_less(a, b) or self.is_less(b, a))
        return equal if condition.op == "eq" or equal is None else not equal

    def _is_at_most(self, a: Expr, b: Expr) -> bool:
        return self._nonnegative(_sum(polynomial(b), polynomial(a), True))

    def _nonnegative(self, terms: Polynomial) -> bool:
        """Whether the terms, or the terms minus a fact's difference, are all >= 0."""
        if self._without_facts(terms):
            return True
        return any(self._without_facts(_sum(terms, fact, True)) for fact in self.facts)

    def _without_facts(self, terms: Polynomial) -> bool:
        for _ in range(8):
            if all(c >= 0 and self._atoms_nonnegative(t) for t, c in terms.items()):
                return True
            lowered = self._eliminate(terms)
            if lowered is None:
                return False
            terms = lowered
        return False

    def _eliminate(self, terms: Polynomial) -> Polynomial | None:
        """Replace one axis with a negative coefficient by its last value."""
        for term, coefficient in terms.items():
            if coefficient >= 0:
                continue
            for position, atom in enumerate(term):
                if atom.op != "axis" or atom.attr >= len(self.extents):
                    continue
                others = term[:position] + term[position + 1 :]
                if not self._atoms_nonnegative(others):
                    continue
                last = _sum(polynomial(self.extents[atom.attr]), {(): 1}, True)
                rest = dict(terms)
                del rest[term]
                return _sum(rest, _product({others: coefficient}, last), False)
        return None

    def _atoms_nonnegative(self, term: tuple[Expr, ...]) -> bool:
        return all(self._atom_nonnegative(atom) for atom in term)

    def _atom_nonnegative(self, atom: Expr) -> bool:
        if atom.op == "axis":
            return True
        if atom.op == "sym":
            return is_size(atom)
        if atom.op == "mod":
            return self.is_nonnegative(atom.args[1])
        if atom.op == "floordiv":
            return all(self.is_nonnegative(a) for a in atom.args)
        if atom.op == "maximum":
            return any(self.is_nonnegative(a) for a in atom.args)
        if atom.op == "minimum":
            return all(self.is_nonnegative(a) for a in atom.args)
        return False


def _difference(fact: Expr) -> Polynomial | None:
    """The difference that a comparison of indices makes nonnegative; else None."""
    if fact.op not in ("le", "lt") or fact.args[0].dtype != "int64":
        return None
    low, high = map(polynomial, fact.args)
    one: Polynomial = {(): 1} if fact.op == "lt" else {}
    return _sum(_sum(high, low, True), one, True)


def _decide_logic(op: str, parts: list[bool | None]) -> bool | None:
    settles = op == "or"
    if settles in parts:
        return settles
    return None if None in parts else not settles


def _settled(always: bool, never: bool) -> bool | None:
    return True if always else False if never else None


def is_size(e: Expr) -> bool:
    """Whether a sym is a tensor's size (``self.0``) or a count, not a number
    argument.
    """
    return e.op == "sym" and "." in e.attr

"""Integer expressions of sizes: polynomials over symbols, floor divisions, remainders.

Equal polynomials are equal objects by value, so ``2*s0 + s0 == 3*s0``. Used by
``numbers.py`` (SymInt) and ``fitting.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

Monomial = tuple["Atom", ...]


@dataclass(frozen=True)
class Atom:
    """A symbol, or a floor division or remainder (``op``) of two expressions."""

    name: str
    op: str = "symbol"
    left: Expr | None = None
    right: Expr | None = None

    def __str__(self) -> str:
        return self.name

    def value(self, of_symbol: Mapping[str, int]) -> int:
        """Its value, for values of the symbols."""
        if self.op == "symbol":
            return of_symbol[self.name]
        assert self.left is not None
        assert self.right is not None
        left, right = self.left.value(of_symbol), self.right.value(of_symbol)
        return left // right if self.op == "floordiv" else left % right

    def bounds(self, ranges: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
        """The least and the greatest value where symbols are in these ranges."""
        if self.op == "symbol":
            return ranges[self.name]
        assert self.left is not None
        assert self.right is not None
        low, high = self.left.bounds(ranges)
        least, most = self.right.bounds(ranges)
        if low < 0 or least <= 0:
            return -inf, inf
        if self.op == "mod":
            return 0, min(high, most - 1)
        return (
            0 if most == inf else low // most,
            inf if high == inf else high // least,
        )


class Expr:
    """A sum of products of atoms with integer factors."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {m: c for m, c in terms.items() if c != 0}

    @staticmethod
    def symbol(name: str) -> Expr:
        """One symbol."""
        return Expr({(Atom(name),): 1})

    @staticmethod
    def constant(value: int) -> Expr:
        """A number."""
        return Expr({(): value})

    @property
    def is_number(self) -> bool:
        """Whether no symbol occurs."""
        return all(monomial == () for monomial in self.terms)

    @property
    def free_symbols(self) -> set[str]:
        """The names of the symbols that occur."""
        return {name for m in self.terms for atom in m for name in _symbols(atom)}

    def value(self, of_symbol: Mapping[str, int]) -> int:
        """Its value, for values of the symbols."""
        total = 0
        for monomial, factor in self.terms.items():
            for atom in monomial:
                factor *= atom.value(of_symbol)
            total += factor
        return total

    def bounds(self, ranges: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
        """The least and the greatest value where symbols are in these ranges."""
        low = high = 0.0
        for monomial, factor in self.terms.items():
            ends = {float(factor)}
            for atom in monomial:
                ends = {_product(a, b) for a in ends for b in atom.bounds(ranges)}
                ends = {min(ends), max(ends)}
            low, high = low + min(ends), high + max(ends)
        return low, high

    def evaluate(self, of_symbol: Mapping[str, Any], apply: Callable[..., Any]) -> Any:
        """Its value over other numbers; ``apply(op, a, b)`` computes ``add``, ``mul``,
        ``floordiv`` and ``mod`` of them.
        """
        total: Any = None
        for monomial, factor in sorted(self.terms.items(), key=_order):
            product: Any = None
            for atom in monomial:
                value = _evaluate_atom(atom, of_symbol, apply)
                product = value if product is None else apply("mul", product, value)
            if product is None:
                product = factor
            elif factor != 1:
                product = apply("mul", product, factor)
            total = product if total is None else apply("add", total, product)
        return 0 if total is None else total

    def __add__(self, other: Expr) -> Expr:
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return Expr(terms)

    def __mul__(self, other: Expr) -> Expr:
        terms: dict[Monomial, int] = {}
        for m, a in self.terms.items():
            for n, b in other.terms.items():
                both = tuple(sorted((*m, *n), key=str))
                terms[both] = terms.get(both, 0) + a * b
        return Expr(terms)

    def __neg__(self) -> Expr:
        return Expr({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Expr) -> Expr:
        return self + (-other)

    def __floordiv__(self, other: Expr) -> Expr:
        return _divided(self, other, "floordiv")

    def __mod__(self, other: Expr) -> Expr:
        return _divided(self, other, "mod")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for monomial, factor in sorted(self.terms.items(), key=_order):
            sign = (
                ("-" if factor < 0 else "")
                if not text
                else " - "
                if factor < 0
                else " + "
            )
            text += sign + _term(monomial, abs(factor))
        return text

    __repr__ = __str__


def _product(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _symbols(atom: Atom) -> set[str]:
    if atom.op == "symbol":
        return {atom.name}
    assert atom.left is not None
    assert atom.right is not None
    return atom.left.free_symbols | atom.right.free_symbols


def _order(item: tuple[Monomial, int]) -> Any:
    """Higher products first, numbers last."""
    return (-len(item[0]), [str(atom) for atom in item[0]])


def _term(monomial: Monomial, factor: int) -> str:
    if not monomial:
        return str(factor)
    powers: dict[str, int] = {}
    for atom in monomial:
        powers[str(atom)] = powers.get(str(atom), 0) + 1
    names = "*".join(n if p == 1 else f"{n}**{p}" for n, p in powers.items())
    return names if factor == 1 else f"{factor}*{names}"


def _divided(left: Expr, right: Expr, op: str) -> Expr:
    if left.is_number and right.is_number:
        a, b = left.value({}), right.value({})
        return Expr.constant(a // b if op == "floordiv" else a % b)
    quotient = _exact(left, right)
    if quotient is not None:
        return quotient if op == "floordiv" else Expr.constant(0)
    sign = "//" if op == "floordiv" else "%"
    shown = (
        f"(({left}){sign}({right}))"
        if len(left.terms) > 1
        else f"({left}{sign}{right})"
    )
    return Expr({(Atom(shown, op, left, right),): 1})


def _exact(left: Expr, right: Expr) -> Expr | None:
    """The quotient by one product, where every term is a multiple of it."""
    if len(right.terms) != 1:
        return Expr.constant(1) if left == right else None
    ((divisor, factor),) = right.terms.items()
    terms = {}
    for monomial, c in left.terms.items():
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if c % factor:
            return None
        terms[tuple(rest)] = c // factor
    return Expr(terms)


def _evaluate_atom(
    atom: Atom, of_symbol: Mapping[str, Any], apply: Callable[..., Any]
) -> Any:
    if atom.op == "symbol":
        return of_symbol[atom.name]
    assert atom.left is not None
    assert atom.right is not None
    left = atom.left.evaluate(of_symbol, apply)
    return apply(atom.op, left, atom.right.evaluate(of_symbol, apply))

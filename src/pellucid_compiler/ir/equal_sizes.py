"""EqualSizes: the sizes that a Graph knows to be equal, as a union-find.

``matmul`` requires equal inner sizes: afterwards both are one size. A class is
represented by its numeric value, if known, else by the size that was seen first. Each
Graph has one, which its trace fills and specialise/unify.py reads.
"""

from __future__ import annotations

from pellucid_compiler.ir.affine import is_size
from pellucid_compiler.ir.expr import Expr


class EqualSizes:
    """Classes of equal sizes; some are also known as an expression of other sizes."""

    def __init__(self) -> None:
        self._parent: dict[Expr, Expr] = {}
        self._named: dict[Expr, int] = {}  # in order of first use
        self._expressions: dict[Expr, Expr] = {}  # by the class's representative

    def find(self, e: Expr) -> Expr:
        """The representative of the class of ``e``: a number or a size; else ``e``."""
        while e in self._parent:
            e = self._parent[e]
        return e

    def add(self, condition: Expr) -> None:
        """Add a condition: ``a == b`` for a size; other conditions are ignored."""
        if condition.op == "eq" and any(is_size(a) for a in condition.args):
            self._unite(*condition.args)

    def merge(self, other: EqualSizes) -> None:
        """Add everything that ``other`` knows."""
        for size, equal in [*other._parent.items(), *other._expressions.items()]:
            if is_size(size):
                self._unite(equal, size)

    def copy(self) -> EqualSizes:
        made = EqualSizes()
        made._parent, made._named = dict(self._parent), dict(self._named)
        made._expressions = dict(self._expressions)
        return made

    def renamed(self) -> dict[Expr, Expr]:
        """The replacement of each size: an expression if one is known, else its
        representative, if it is another size.
        """
        roots = {e: self.find(e) for e in [*self._parent, *self._expressions]}
        return {e: self._expressions.get(root, root) for e, root in roots.items()}

    def _unite(self, a: Expr, b: Expr) -> None:
        first, second = self.find(a), self.find(b)
        ages = [self._named.setdefault(e, len(self._named)) for e in (first, second)]
        if second.op == "const" or (is_size(first) and ages[1] < ages[0]):
            first, second = second, first
        if first is second or not is_size(second):
            return
        if not is_size(first) and first.op != "const":
            self._expressions.setdefault(second, first)
            return
        self._parent[second] = first
        expression = self._expressions.pop(second, None)
        if expression is not None and first.op != "const":
            self._expressions.setdefault(first, expression)

"""EqualSizes: which sizes a Graph knows to be equal, as a union-find.

``matmul`` requires that the inner sizes agree: both are then one size. A class is
represented by the number that its sizes are, if one is known, else by the size that was
named first. A Graph has one, which its trace fills and specialise/unify.py reads.
"""

from __future__ import annotations

from pellucid_compiler.ir.affine import is_size
from pellucid_compiler.ir.expr import Expr


class EqualSizes:
    """Classes of sizes, of some of which an expression of other sizes is known too."""

    def __init__(self) -> None:
        self._parent: dict[Expr, Expr] = {}
        self._named: dict[Expr, int] = {}  # by when it was named first
        self._expressions: dict[Expr, Expr] = {}  # by the class's representative

    def find(self, e: Expr) -> Expr:
        """The number or size that represents what equals ``e``; else ``e``."""
        while e in self._parent:
            e = self._parent[e]
        return e

    def add(self, condition: Expr) -> None:
        """What holds from now on: ``a == b`` of a size; others say nothing here."""
        if condition.op == "eq" and any(is_size(a) for a in condition.args):
            self._unite(*condition.args)

    def merge(self, other: EqualSizes) -> None:
        """All that the other one knows."""
        for size, equal in [*other._parent.items(), *other._expressions.items()]:
            if is_size(size):
                self._unite(equal, size)

    def copy(self) -> EqualSizes:
        made = EqualSizes()
        made._parent, made._named = dict(self._parent), dict(self._named)
        made._expressions = dict(self._expressions)
        return made

    def renamed(self) -> dict[Expr, Expr]:
        """What to write for each size: an expression if one is known of it, else its
        representative, where it is another one.
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

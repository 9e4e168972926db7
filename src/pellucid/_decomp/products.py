"""A loop that is a product of matrices, by ``mm``, ``mv`` or ``bmm``.

Used by loops.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pellucid
from pellucid import Tensor
from pellucid._decomp.expressible import factors_of
from pellucid._decomp.loop_values import LoopValues
from pellucid._decomp.views import transposed
from pellucid._ops import ops

if TYPE_CHECKING:
    from pellucid_compiler.ir.expr import Expr

aten = ops.aten


class ProductLoop(LoopValues):
    """A contraction; a factor that is a scalar is given the dims of what it meets."""

    needs_dims = True

    def result(self) -> Tensor:
        """The product."""
        dtype = getattr(pellucid, self.attrs.dtype)
        found = self._product()
        return found if found.dtype is dtype else found.to(dtype)

    def _product(self) -> Tensor:
        """By ``mm``, ``mv`` or ``bmm``: batch axes are those of both factors."""
        from pellucid_compiler.ir.traversal import axes_of

        factors = factors_of(self.node)
        assert factors is not None
        first, second = ({self.dims[a] for a in axes_of(f)} for f in factors)
        summed = sorted(self.dims[a] for a in self.combined)
        batch = sorted((first & second).difference(summed))
        rows, columns = sorted(first - second), sorted(second - first)
        left, right = factors
        if [*rows, *columns] != sorted([*rows, *columns]):
            left, right, rows, columns = right, left, columns, rows
        if max(map(len, (batch, rows, columns))) > 1 or len(summed) != 1:
            found = self._product_of_many(left, right, batch, rows, summed, columns)
        elif batch:
            found = aten.bmm(
                self._factor(left, [batch, rows, summed]),
                self._factor(right, [batch, summed, columns]),
            )
            if not rows or not columns:
                sizes = zip(found.shape, (batch, rows, columns), strict=True)
                found = aten.view(found, [n for n, dims in sizes if dims])
        elif rows and columns:
            found = aten.mm(
                self._factor(left, [rows, summed]),
                self._factor(right, [summed, columns]),
            )
        elif rows:
            found = aten.mv(
                self._factor(left, [rows, summed]), self._factor(right, [summed])
            )
        elif columns:
            found = aten.mv(
                self._factor(right, [columns, summed]), self._factor(left, [summed])
            )
        else:
            found = aten.dot(
                self._factor(left, [summed]), self._factor(right, [summed])
            )
        return self._placed(found, [*batch, *rows, *columns])

    def _factor(self, e: Expr, groups: list[list[int]]) -> Tensor:
        """A factor with one dim for each group of one dim, or of none."""
        order = [d for group in groups for d in group]
        operand = self._plain(e)
        if operand is None or len(order) != len(groups):
            return _matrices(self.value(e), groups)
        tensor, dims = operand
        return transposed(tensor, [dims.index(d) for d in order])

    def _plain(self, e: Expr) -> tuple[Tensor, list[int]] | None:
        """(operand, dim of each of its own) of a load of whole dims."""
        if e.op != "load":
            return None
        sizes = self.node.inputs[e.attr].shape
        pieces = [
            self._piece(i, size, e) for i, size in zip(e.args, sizes, strict=True)
        ]
        if any(p is None or p.axis is None or p.bounds is not None for p in pieces):
            return None
        dims = [self.dims[p.axis] for p in pieces if p and p.axis is not None]
        return (self.operands[e.attr], dims) if len(dims) == len(set(dims)) else None

    def _product_of_many(
        self,
        left: Expr,
        right: Expr,
        batch: list[int],
        rows: list[int],
        summed: list[int],
        columns: list[int],
    ) -> Tensor:
        """By ``bmm`` of the factors as three dims."""
        first, second = self.value(left), self.value(right)
        product = aten.bmm(
            _matrices(first, [batch, rows, summed]),
            _matrices(second, [batch, summed, columns]),
        )
        sizes = [
            *(first.shape[d] for d in (*batch, *rows)),
            *(second.shape[d] for d in columns),
        ]
        found: Tensor = aten.view(product, sizes)
        return found

    def _placed(self, found: Tensor, made: list[int]) -> Tensor:
        """A product whose dims are ``made`` as the loop's result."""
        if made != sorted(made):
            found = transposed(found, [made.index(d) for d in sorted(made)])
        place = self.attrs.store.place
        for d in (d for d in range(len(place)) if d not in made):
            found = aten.unsqueeze(found, d)
        extents = [self.extent(i.attr) if i.op == "axis" else 1 for i in place]
        if any(i.op == "axis" and d not in made for d, i in enumerate(place)):
            found = found.expand(extents)
        return found


def _matrices(value: Tensor, groups: list[list[int]]) -> Tensor:
    """As (batch, rows, columns), whose dims are ``groups``; the others have size 1."""
    order = [d for group in groups for d in group]
    sizes = [math.prod(value.shape[d] for d in group) for group in groups]
    order += [d for d in range(value.dim()) if d not in order]
    if order != sorted(order):
        value = aten.permute(value, order)
    return value.reshape(sizes)

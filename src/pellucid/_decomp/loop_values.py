"""What a loop computes at its points, as whole tensors.

Every axis is a dim; a load is a view (``permute``, ``slice``, ``unsqueeze``) or, at
places that no view shows, ``index``, ``gather`` or ``index_select``. What becomes of
the values the kinds of loops say: loops.py, products.py, puts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.emitted import (
    as_pytorch_writes,
    by_number,
    chosen,
    meaning,
    wide_scalar,
)
from pellucid._decomp.registry import unseen
from pellucid._decomp.views import as_long, permuted
from pellucid._ops import ops

if TYPE_CHECKING:
    from pellucid_compiler.ir.expr import Expr
    from pellucid_compiler.ir.graph import Node

aten = ops.aten


class LoopValues:
    """The values of one loop, which have a dim for each axis, of size 1 where they do
    not vary along it. Axes of the result are at its dims; those that the loop combines
    over are at its dims of size 1, or the last ones.
    """

    needs_dims = False

    def __init__(
        self,
        node: Node,
        operands: list[Tensor],
        env: dict[str, Any],
        device: Any,
        restores: bool,
        *,
        is_last: bool,
    ) -> None:
        from pellucid_compiler.ir.traversal import checked_loads

        self.node, self.attrs = node, node.attrs
        self.operands, self.env, self.device = operands, env, device
        self.values: dict[Expr, Any] = {}
        self.restores = restores or self.needs_dims
        bodies = [store.body for store in self.attrs.stores]
        self.certain = set().union(*map(checked_loads, bodies))
        # What the Graph ends with is shown as `div`; a reciprocal that more is computed
        # of stays one, as kernels have it.
        self.endings = set(map(uncast, bodies)) if is_last else set()
        self.place_axes()

    def place_axes(self) -> None:
        """Which dim each axis is."""
        place = self.attrs.store.place
        self.dims = {i.attr: d for d, i in enumerate(place) if i.op == "axis"}
        count = len(self.attrs.extents)
        self.combined = [a for a in range(count) if a not in self.dims]
        free = [d for d, i in enumerate(place) if i.op != "axis"]
        self.keeps_dims = bool(self.combined) and len(free) == len(self.combined)
        if not self.keeps_dims:
            free = list(range(len(place), len(place) + len(self.combined)))
        self.dims.update(zip(self.combined, free, strict=True))
        self.rank = max(len(place), *(d + 1 for d in free), 0)
        order = self._order_of_operand()
        if order:
            self.dims = {a: d for d, a in enumerate(order)}

    def _order_of_operand(self) -> list[int]:
        """The axes in the order of the operand's dims, where one is reduced as it is;
        else none.
        """
        body = uncast(self.attrs.store.body)
        if body.op != "load" or self.keeps_dims or not self.combined:
            return []
        order = [i.attr for i in body.args if i.op == "axis"]
        kept = [a for a in order if a not in self.combined]
        stored = [i.attr for i in self.attrs.store.place if i.op == "axis"]
        is_all = len(order) == len(body.args) == len(set(order)) == self.rank
        return order if is_all and kept == stored else []

    def result(self) -> Tensor:
        """What the loop gives."""
        raise NotImplementedError

    def extent(self, number: int) -> Any:
        """How many points an axis has."""
        return known_size(self.attrs.extents[number], self.env)

    def zeros(self) -> Tensor:
        """Of the result's shape and dtype."""
        shape = [known_size(n, self.env) for n in self.attrs.shape]
        dtype = getattr(pellucid, self.attrs.dtype)
        like = next((t for t in self.operands if t.dtype is dtype), None)
        if like is not None:
            made: Tensor = aten.new_zeros(like, shape)
            return made
        filled: Tensor = aten.full(shape, 0, dtype=dtype, device=self.device)
        return filled

    # ------------------------------------------------------------------ values

    def value(self, e: Expr) -> Any:
        """A tensor, or a number where ``e`` is one of sizes and numbers alone."""
        if e not in self.values:
            self.values[e] = self._computed(e)
        return self.values[e]

    def _computed(self, e: Expr) -> Any:
        from pellucid_compiler.ir.expr import LOADS, is_loaded
        from pellucid_compiler.ir.traversal import axes_of

        if not is_loaded(e) and not axes_of(e):
            return self._number(e)
        if e.op == "axis":
            return self._axis(e.attr)
        if e.op in LOADS:
            return self._load(e)
        name, parts = as_pytorch_writes(e) if e in self.endings else (e.op, e.args)
        operands = [self.value(a) for a in parts]
        if e.op == "with_partials":
            return operands[0]
        if name in ("mul", "div") and _is_one(operands[1]):
            return operands[0]
        if name == "mul" and _is_one(operands[0]):
            return operands[1]
        if e.op == "cast":
            dtype, value = dtype_of(e), operands[0]
            return value if value.dtype is dtype else value.to(dtype)
        if e.op == "select":
            return self._selected(e, operands)
        found = by_number(name, operands)
        if found is not None:
            return found
        run = meaning(name)
        assert run is not None
        return run(*operands)

    def _number(self, e: Expr) -> Any:
        """Of sizes and numbers; what Python's integers and floats do not compute is
        computed by tensors that nobody sees.
        """
        try:
            return known_size(e, self.env)
        except TypeError:
            run = meaning(e.op)
            assert run is not None
            numbers = [self._number(a) for a in e.args]
            with unseen():
                return run(*map(wide_scalar, numbers)).item()

    def _selected(self, e: Expr, operands: list[Any]) -> Any:
        condition, first, second = operands
        if not isinstance(condition, Tensor):
            return first if condition else second
        if not isinstance(first, Tensor) and not isinstance(second, Tensor):
            dtype = dtype_of(e)
            first = aten.scalar_tensor(first, dtype=dtype, device=self.device)
        return chosen(condition, first, second)

    def _axis(self, number: int) -> Any:
        """The positions along an axis."""
        shape = [1] * self.rank
        shape[self.dims[number]] = extent = self.extent(number)
        positions = aten.arange.start_step(0, extent, 1, device=self.device)
        return positions if self.rank == 1 else aten.view(positions, shape)

    # ------------------------------------------------------------------ loads

    def _load(self, e: Expr) -> Any:
        """The operand's elements at the places that an expression says."""
        from pellucid_compiler.ir.expr import load_index

        operand: Any = self.operands[e.attr]
        sizes = self.node.inputs[e.attr].shape
        index = load_index(e)
        if not index and self.dims and not self.restores:
            return operand  # it broadcasts
        pieces = [self._piece(i, size, e) for i, size in zip(index, sizes, strict=True)]
        dims = [self.dims[p.axis] for p in pieces if p and p.axis is not None]
        if None in pieces or len(dims) != len(set(dims)):
            return self._gathered(e, operand)
        shown = [p for p in pieces if p is not None]
        keeps_units = len(shown) == self.rank and all(
            p.is_unit or (p.axis is not None and self.dims[p.axis] == d)
            for d, p in enumerate(shown)
        )
        for d in reversed(range(len(shown))):
            if not (keeps_units and shown[d].is_unit):
                operand = shown[d].of(operand, d)
        if keeps_units:
            return operand
        operand = permuted(operand, [dims.index(d) for d in sorted(dims)])
        for d in range(self.rank):
            if d not in dims:
                operand = aten.unsqueeze(operand, d)
        return operand

    def _piece(self, index: Expr, size: Expr, load: Expr) -> _Piece | None:
        """What an index takes of a dim: one place, or a slice along one axis."""
        from pellucid_compiler.ir.affine import linear_in
        from pellucid_compiler.ir.expr import is_const, is_loaded
        from pellucid_compiler.ir.traversal import axes_of

        if index.op == "axis":
            is_whole = self.attrs.extents[index.attr] is size
            if is_whole or self.extent(index.attr) == known_size(size, self.env):
                return _Piece(index.attr)
        if is_broadcast(index):
            return _Piece(index.args[2].attr)
        if is_const(index, 0) and is_const(size, 1):
            return _Piece(None, 0, is_unit=True)
        if load not in self.certain or is_loaded(index):
            return None
        axes = list(axes_of(index))
        if not axes:
            return _Piece(None, known_size(index, self.env))
        parts = linear_in(index, axes[0]) if len(axes) == 1 else None
        if parts is None or parts[0].op != "const" or parts[0].attr < 1:
            return None
        start, step = known_size(parts[1], self.env), parts[0].attr
        stop = start + self.extent(axes[0]) * step
        return _Piece(axes[0], start, (start, stop, step))

    def _gathered(self, e: Expr, operand: Tensor) -> Tensor:
        """By ``index``, or by ``gather`` and ``index_select`` along one dim. Where the
        element is not chosen, at the nearest place.
        """
        from pellucid_compiler.ir.expr import load_fill, load_index

        if e in self.certain:
            along = self._along_one_dim(load_index(e), self.node.inputs[e.attr].shape)
            if along is not None and self.rank == operand.dim():
                dim, at = along
                packet = aten.index_select if at.dim() == 1 else aten.gather
                picked: Tensor = packet(operand, dim, at)
                return picked
        places, inside = [], None
        fill = load_fill(e)
        for d, i in enumerate(load_index(e)):
            place = self.value(i)
            if not isinstance(place, Tensor):
                place = aten.scalar_tensor(
                    place, dtype=pellucid.int64, device=self.device
                )
            if e not in self.certain:
                last = operand.shape[d] - 1
                if fill is not None:
                    within = place.ge(0).logical_and(place.le(last))
                    inside = within if inside is None else inside.logical_and(within)
                place = place.clamp(0, last)
            places.append(as_long(place))
        found: Tensor = aten.index.Tensor(operand, places)
        if fill is None or inside is None:
            return found
        other = self.value(fill)
        result: Tensor = chosen(inside, found, other)
        return result

    def _along_one_dim(
        self, index: Sequence[Expr], sizes: Sequence[Expr]
    ) -> tuple[int, Tensor] | None:
        """(dim, places along it) where an index is the point's own in all other dims:
        the places are a vector, or one for each point.
        """
        if len(index) != self.rank:
            return None
        at = {d: a for a, d in self.dims.items()}
        moved = [
            d for d, i in enumerate(index) if i.op != "axis" or i.attr != at.get(d)
        ]
        if len(moved) != 1:
            return None
        (dim,) = moved
        place = index[dim].args[0] if index[dim].op == "cast" else index[dim]
        if place.op != "load":
            return None
        operand = self.operands[place.attr]
        named = [i.attr if i.op == "axis" else None for i in place.args]
        if named == [at.get(dim)]:
            is_whole = True
        elif named == [at.get(d) for d in range(self.rank)]:
            is_whole = all(
                d == dim or self.extent(at[d]) <= known_size(sizes[d], self.env)
                for d in range(self.rank)
            )
        else:
            return None
        extents = [self.extent(a) for a in named if a is not None]
        if not is_whole or tuple(operand.shape) != tuple(extents):
            return None
        return dim, operand


@dataclass
@dataclass
class _Piece:
    """What a load takes of one dim: ``axis`` runs along ``bounds`` of it, all without;
    no axis: the element ``start``.
    """

    axis: int | None
    start: Any = 0
    bounds: tuple[Any, Any, int] | None = None
    is_unit: bool = False

    def of(self, operand: Tensor, dim: int) -> Tensor:
        """The operand with this piece of a dim."""
        found: Tensor = operand
        if self.is_unit:
            found = aten.squeeze.dim(operand, dim)
        elif self.axis is None:
            found = aten.select.int(operand, dim, self.start)
        elif self.bounds is not None:
            found = aten.slice.Tensor(operand, dim, *self.bounds)
        return found


def known_size(e: Expr, env: dict[str, Any]) -> Any:
    from pellucid_compiler.ir.sizes import size_value

    return size_value(e, env)


def dtype_of(e: Expr) -> pellucid.dtype:
    """That of a tensor of its values: a number's is as wide as Python's."""
    from pellucid_compiler.ir.dtypes import arithmetic_dtype

    name = arithmetic_dtype(e.dtype) if e.dtype.startswith("weak") else e.dtype
    found: pellucid.dtype = getattr(pellucid, name)
    return found


def uncast(e: Expr) -> Expr:
    while e.op == "cast":
        e = e.args[0]
    return e


def _is_one(value: Any) -> bool:
    return not isinstance(value, Tensor) and value == 1


def is_broadcast(index: Expr) -> bool:
    """``0 if size == 1 else axis``: dims of size 1 broadcast anyway."""
    from pellucid_compiler.ir.expr import is_const

    return (
        index.op == "select"
        and index.args[0].op == "eq"
        and is_const(index.args[0].args[1], 1)
        and is_const(index.args[1], 0)
        and index.args[2].op == "axis"
    )

"""A loop that stores at computed places: by ``scatter``, ``index_add`` and their kin
where one dim alone is computed, else by ``index_put``. Used by loops.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.emitted import chosen
from pellucid._decomp.expressible import SCATTERED
from pellucid._decomp.loop_values import LoopValues, known_size
from pellucid._decomp.views import as_long, expanded_to
from pellucid._ops import ops

if TYPE_CHECKING:
    from pellucid_compiler.ir.expr import Expr

aten = ops.aten


class Puts(LoopValues):
    """A loop that stores at computed places; its axes are the dims, in order."""

    def place_axes(self) -> None:
        """As they come."""
        self.rank = len(self.attrs.extents)
        self.dims = {a: a for a in range(self.rank)}

    def result(self) -> Tensor:
        """Zeros or the operand that is updated, with what is put there."""
        found: Tensor
        if self._covers():
            found = self._values(self.attrs.store, full=True)
            return found
        if self.attrs.init is not None:
            found = self.operands[self.attrs.init]
        else:
            found = self._identity()
        for store in self.attrs.stores:
            found = self._put(found, store)
        return found

    def _identity(self) -> Tensor:
        """What the loop starts from."""
        from pellucid_compiler.ir.primitives.loop import identity

        if self.attrs.combine not in SCATTERED:
            return self.zeros()
        dtype = getattr(pellucid, self.attrs.dtype)
        shape = [known_size(n, self.env) for n in self.attrs.shape]
        value = identity(self.attrs.combine, self.attrs.dtype)
        made: Tensor = aten.full(shape, value, dtype=dtype, device=self.device)
        return made

    def _covers(self) -> bool:
        """Whether the only store writes every element once, each at its own place."""
        attrs = self.attrs
        return (
            attrs.init is None
            and len(attrs.stores) == 1
            and len(attrs.shape) == self.rank
            and all(
                i.op == "axis"
                and i.attr == d
                and self.extent(d) == known_size(n, self.env)
                for d, (i, n) in enumerate(
                    zip(attrs.store.place, attrs.shape, strict=True)
                )
            )
        )

    def _values(self, store: Any, *, full: bool) -> Any:
        """What a store puts: at every point, or a number where it is one."""
        dtype = getattr(pellucid, self.attrs.dtype)
        value = self.value(store.body)
        if not isinstance(value, Tensor):
            if not full:
                return value
            value = aten.scalar_tensor(value, dtype=dtype, device=self.device)
        value = value if value.dtype is dtype else value.to(dtype)
        return expanded_to(value, [self.extent(a) for a in range(self.rank)])

    def _put(self, found: Tensor, store: Any) -> Tensor:
        """By ``scatter``, ``index_add`` and their kin where the places differ from the
        points' own along one dim, else by ``index_put``.
        """
        adds = self.attrs.combine == "sum"
        along = self._along_one_dim(store.place, self.attrs.shape)
        result: Tensor
        if self.attrs.combine in SCATTERED:
            return self._scatter_reduced(found, store, along)
        if along is None or store.drop:
            value = self._values(store, full=True)
            if store.drop:
                places, value = self._inside(store, value)
            else:
                places = self._places(store)
            result = aten.index_put(found, places, value, adds)
            return result
        dim, index = along
        value = self._values(store, full=adds)
        if index.dim() == 1 and self.rank > 1:
            if not isinstance(value, Tensor):
                result = aten.index_fill.int_Scalar(found, dim, index, value)
            else:
                packet = aten.index_add if adds else aten.index_copy
                result = packet(found, dim, index, value)
        elif not isinstance(value, Tensor):
            result = aten.scatter.value(found, dim, index, value)
        elif adds:
            result = aten.scatter_add(found, dim, index, value)
        else:
            result = aten.scatter.src(found, dim, index, value)
        return result

    def _scatter_reduced(
        self, found: Tensor, store: Any, along: tuple[int, Tensor] | None
    ) -> Tensor:
        """Combined by ``scatter_reduce``; at places of several dims, as of one dim."""
        if self.attrs.dtype == "bool":
            found = found.to(pellucid.uint8)
        value = self._values(store, full=True).to(found.dtype)
        reduce = SCATTERED[self.attrs.combine]
        if along is not None and along[1].dim() == self.rank:
            result = aten.scatter_reduce.two(found, *along, value, reduce)
        else:
            flat: Any = None
            for i, n in zip(store.place, found.shape, strict=True):
                place = self._place(i).expand(value.shape)
                flat = place if flat is None else flat * n + place
            given = found.reshape([-1]), 0, flat.reshape([-1]), value.reshape([-1])
            result = aten.scatter_reduce.two(*given, reduce)
            result = result.reshape(found.shape)
        dtype = getattr(pellucid, self.attrs.dtype)
        made: Tensor = result if result.dtype is dtype else result.to(dtype)
        return made

    def _inside(self, store: Any, value: Tensor) -> tuple[list[Any], Tensor]:
        """Places beyond the result moved into it, where nothing is added."""
        inside: Any = None
        places = []
        for i, n in zip(store.place, self.attrs.shape, strict=True):
            place, last = self._place(i), known_size(n, self.env) - 1
            within = place.ge(0).logical_and(place.le(last))
            inside = within if inside is None else inside.logical_and(within)
            places.append(place.clamp(0, last))
        return places, chosen(inside, value, 0)

    def _places(self, store: Any) -> list[Any]:
        """The indices of ``index_put``, which counts from the end too; of a point's own
        places None where the others are indices of neighbouring dims.
        """
        from pellucid_compiler.ir.indexed import unwrapped
        from pellucid_compiler.ir.traversal import axes_of

        own = [i.attr if i.op == "axis" else None for i in store.place]
        moved = [d for d, a in enumerate(own) if a is None]
        shape = self.attrs.shape
        places = [unwrapped(i, n) for i, n in zip(store.place, shape, strict=True)]
        if moved and moved == list(range(moved[0], moved[-1] + 1)):
            used = sorted({a for d in moved for a in axes_of(places[d])})
            order = [*own[: moved[0]], *used, *own[moved[-1] + 1 :]]
            is_whole = all(
                a is None or self.extent(a) == known_size(n, self.env)
                for a, n in zip(own, shape, strict=True)
            )
            if is_whole and order == list(range(self.rank)) and used:
                first = used[0]
                return [
                    self._block(i, first, len(used)) if d in moved else None
                    for d, i in enumerate(places)
                ]
        return [self._place(i) for i in places]

    def _block(self, index: Expr, first: int, count: int) -> Tensor:
        """An index as a tensor of some neighbouring axes alone."""
        if index.op == "load" and [i.op == "axis" and i.attr for i in index.args] == [
            *range(first, first + count)
        ]:
            operand = self.operands[index.attr]
            if list(operand.shape) == [self.extent(first + k) for k in range(count)]:
                return as_long(operand)
        place = self._place(index)
        shown: Tensor = aten.view(place, list(place.shape[first : first + count]))
        return shown

    def _place(self, index: Expr) -> Any:
        place = self.value(index)
        if isinstance(place, Tensor):
            return as_long(place)
        shape = [1] * self.rank
        return aten.full(shape, place, dtype=pellucid.int64, device=self.device)

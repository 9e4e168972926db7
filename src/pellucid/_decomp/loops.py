"""A loop that gives one element a point of its result, by ops on whole tensors; with
more axes than its result it combines over them. Used by graphs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.loop_values import LoopValues, is_broadcast, known_size
from pellucid._decomp.products import ProductLoop
from pellucid._decomp.puts import Puts
from pellucid._decomp.views import as_long, expanded_to
from pellucid._ops import ops

if TYPE_CHECKING:
    from pellucid_compiler.ir.graph import Node

aten = ops.aten


def kind_of_loop(node: Node) -> type[LoopValues]:
    """How the loop's values become its result."""
    from pellucid_compiler.ir.kinds import has_plain_store, kind_of

    if not has_plain_store(node.attrs):
        return Puts
    return ProductLoop if kind_of(node) == "contraction" else Loop


class Loop(LoopValues):
    """One that gives its values as they are, or reduced."""

    def result(self) -> Tensor:
        """The loop's."""
        dtype = getattr(pellucid, self.attrs.dtype)
        chosen_place = self._of_one_place()
        if chosen_place is not None:
            found = chosen_place
        else:
            value = self.value(self.attrs.store.body)
            if not isinstance(value, Tensor):
                shape = [known_size(n, self.env) for n in self.attrs.shape]
                full: Tensor = aten.full(shape, value, dtype=dtype, device=self.device)
                return full
            found = self._expanded(value)
            if self.combined:
                found = self._reduced(found)
        return found if found.dtype is dtype else found.to(dtype)

    def _of_one_place(self) -> Tensor | None:
        """By ``scatter``, where all elements along an axis are 0 but the one at a
        loaded place: ``value if axis == index[...] else 0``.
        """
        from pellucid_compiler.ir.expr import is_const
        from pellucid_compiler.ir.traversal import uses_axis

        body = self.attrs.store.body
        if body.op != "select" or self.combined or not is_const(body.args[2], 0):
            return None
        condition, value, _ = body.args
        if condition.op != "eq" or condition.args[0].op != "axis":
            return None
        number, index = condition.args[0].attr, condition.args[1]
        if index.op != "load" or any(uses_axis(e, {number}) for e in (index, value)):
            return None
        places, source = self.value(index), self.value(value)
        if not isinstance(source, Tensor):
            return None
        if self.rank == 1:  # an element's place
            places, source = (_of_rank_one(t) for t in (places, source))
        once = [1] * self.rank
        for a, d in self.dims.items():
            once[d] = 1 if a == number else self.extent(a)
        dim = self.dims[number]
        places, source = expanded_to(places, once), expanded_to(source, once)
        found: Tensor = aten.scatter.src(self.zeros(), dim, as_long(places), source)
        return found

    def _expanded(self, value: Tensor) -> Tensor:
        """At every point, where the body is the same at several."""
        from pellucid_compiler.ir.traversal import loads, uses_axis

        body = self.attrs.store.body
        varies = all(uses_axis(body, {a}) for a in self.dims)
        if varies and not any(is_broadcast(i) for e in loads(body) for i in e.args):
            return value
        extents = [1] * self.rank
        for a, d in self.dims.items():
            extents[d] = self.extent(a)
        return value if tuple(value.shape) == tuple(extents) else value.expand(extents)

    def _reduced(self, found: Tensor) -> Tensor:
        """Combined over the axes that the result has not; kept dims of size 1 are
        combined already.
        """
        dims = sorted(self.dims[a] for a in self.combined)
        if self.keeps_dims:
            dims = [d for d in dims if found.shape[d] != 1]
        combine = _COMBINED[self.attrs.combine]
        return combine(found, dims, self.keeps_dims) if dims else found


def _of_rank_one(x: Tensor) -> Tensor:
    found: Tensor = x if x.dim() else aten.unsqueeze(x, 0)
    return found


def _sum(x: Tensor, dims: list[int], keepdim: bool) -> Any:
    dtype = None if x.is_floating_point() or x.is_complex() else x.dtype
    return aten.sum.dim_IntList(x, dims, keepdim, dtype=dtype)


def _product_of(x: Tensor, dims: list[int], keepdim: bool) -> Any:
    for d in reversed(dims):
        x = aten.prod.dim_int(x, d, keepdim, dtype=x.dtype)
    return x


def _all(x: Tensor, dims: list[int], keepdim: bool) -> Any:
    return aten.logical_not(aten.any.dims(aten.logical_not(x), dims, keepdim))


_COMBINED: dict[str, Callable[[Tensor, list[int], bool], Any]] = {
    "sum": _sum,
    "prod": _product_of,
    "max": aten.amax,
    "min": aten.amin,
    "and": _all,
    "or": aten.any.dims,
}

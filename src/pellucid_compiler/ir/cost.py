"""The cost of a Graph: operations and memory traffic, counted from its loops.

``graph_cost`` counts the operations of every loop as written: the scalar operations of
one point times the number of points, and one for each element that is combined with
others; and the bytes of the distinct elements that its loads read and its stores write.
Index arithmetic, conversions and selects are free. Nothing here knows an op: products,
convolutions and derivatives are counted alike.

Tests compare it with the definition, evaluated point by point, on random loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations, product
from math import prod
from typing import Any, Final

from pellucid_compiler.ir.affine import linear_in
from pellucid_compiler.ir.dtypes import ITEMSIZE, is_float
from pellucid_compiler.ir.expr import LOADS, SCALAR_OPS, Expr, is_loaded, load_index
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives.loop import LoopAttrs
from pellucid_compiler.ir.sizes import shape_value, size_value
from pellucid_compiler.ir.traversal import (
    axes_of,
    preorder,
    value_operands,
    without_partials,
)

_MOST_UNIONS: Final = 10  # loads of one operand whose union is exact
_MOST_POINTS: Final = 1 << 16  # of loads that are enumerated


@dataclass
class Cost:
    """``operations`` by class: "arithmetic", "division", "elementary", "comparison",
    "integer". ``products``: the part of "arithmetic" in matrix products, that is, loops
    that sum products of two operands each of which has an axis that the other lacks.
    ``product_loops``: the number of such loops. ``exact`` is False if data-dependent
    elements were bounded from above, or a library routine was not counted.
    """

    operations: Counter[str] = field(default_factory=Counter)
    products: int = 0
    product_loops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    exact: bool = True

    @property
    def flops(self) -> int:
        """Operations on floating-point numbers."""
        return sum(self.operations[kind] for kind in _FLOATING)

    def add(self, other: Cost, times: int = 1) -> None:
        """Add the counts of ``other``, ``times`` times."""
        for kind, count in other.operations.items():
            self.operations[kind] += count * times
        self.products += other.products * times
        self.product_loops += other.product_loops
        self.bytes_read += other.bytes_read * times
        self.bytes_written += other.bytes_written * times
        self.exact = self.exact and other.exact


_FLOATING: Final = ("arithmetic", "division", "elementary")


def operation_class(e: Expr) -> str | None:
    """The class of one scalar operation; None: it is free."""
    rule = SCALAR_OPS.get(e.op)
    if rule is None:
        return None
    if rule.work in (None, "comparison") or is_float(e.dtype):
        return rule.work
    return "integer"


def counted_operations(body: Expr) -> list[Expr]:
    """The operations of one point: those on values, not those on indices."""
    found = preorder([without_partials(body)], value_operands)
    return [e for e in found if operation_class(e) and (is_loaded(e) or axes_of(e))]


def graph_cost(graph: Graph, env: Mapping[str, Any]) -> Cost:
    """The cost of all nodes; ``env`` binds sizes and numbers by name. A loop that
    repeats an earlier one on a copy of its operands is not counted again.
    """
    total = Cost()
    same: dict[Value, Value] = {}
    counted: dict[Any, Node] = {}
    for node in graph.nodes:
        inputs = tuple(same.get(value, value) for value in node.inputs)
        first = counted.setdefault((node.primitive, inputs, node.attrs), node)
        if first is not node:
            same.update(zip(node.outputs, first.outputs, strict=True))
            continue
        if _is_copy(node):
            same[node.outputs[0]] = inputs[0]
        total.add(_node_cost(node, env))
    return total


def _is_copy(node: Node) -> bool:
    """Whether a loop only copies its operand."""
    if node.primitive.name != "loop":
        return False
    attrs: LoopAttrs = node.attrs
    if len(attrs.stores) != 1 or len(node.inputs) != 1:
        return False
    if _combines(attrs, attrs.store.place):
        return False
    body, place = without_partials(attrs.store.body), attrs.store.place
    return (
        body.op in LOADS
        and _are_same(load_index(body), place)
        and all(e.op == "axis" for e in place)
        and _are_same(node.inputs[0].shape, attrs.shape)
        and node.inputs[0].dtype == attrs.dtype
    )


def _are_same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Whether these are the same expressions (``==`` would build a comparison)."""
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _node_cost(node: Node, env: Mapping[str, Any]) -> Cost:
    kind = node.primitive.name
    if kind == "loop":
        return loop_cost(node, env)
    if kind == "reshape":
        return Cost()
    bodies = node.primitive.bodies(node.attrs)
    if not bodies:
        return Cost(exact=False)
    times = int(size_value(node.attrs.length, env)) if kind == "scan" else 1
    total = Cost()
    for body in bodies:
        total.add(graph_cost(body, env), times)
    return total


def loop_cost(node: Node, env: Mapping[str, Any]) -> Cost:
    """The cost of one loop."""
    attrs: LoopAttrs = node.attrs
    extents = shape_value(attrs.extents, env)
    points = prod(extents)
    cost = Cost()
    for store in attrs.stores:
        for e in counted_operations(store.body):
            kind = operation_class(e)
            assert kind is not None
            cost.operations[kind] += points
        if _combines(attrs, store.place):
            combined = "arithmetic" if is_float(attrs.dtype) else "integer"
            cost.operations[combined] += points
            if attrs.combine == "sum" and _is_product(store.body):
                cost.products += 2 * points
                cost.product_loops += 1
    _count_bytes(node, attrs, extents, env, cost)
    return cost


def _combines(attrs: LoopAttrs, place: Sequence[Expr]) -> bool:
    """Whether several points are stored to one element."""
    if attrs.combine == "assign":
        return False
    placed = {k for index in place for k in axes_of(index)}
    return attrs.init is not None or len(placed) < len(attrs.extents)


def _is_product(body: Expr) -> bool:
    body = without_partials(body)
    while body.op == "cast":
        body = body.args[0]
    if body.op == "select":
        return any(map(_is_product, body.args[1:]))
    if body.op != "mul" or not all(is_loaded(factor) for factor in body.args):
        return False
    first, second = map(axes_of, body.args)
    return bool(first - second) and bool(second - first)


def _count_bytes(
    node: Node,
    attrs: LoopAttrs,
    extents: Sequence[int],
    env: Mapping[str, Any],
    cost: Cost,
) -> None:
    roots = [store.body for store in attrs.stores]
    roots += [index for store in attrs.stores for index in store.place]
    if attrs.payload is not None:
        roots.append(attrs.payload)
    by_operand: dict[int, list[tuple[Expr, ...]]] = {}
    for e in _all_loads(roots):
        by_operand.setdefault(e.attr, []).append(load_index(e))
    for operand, indices in by_operand.items():
        value = node.inputs[operand]
        shape = shape_value(value.shape, env)
        count, exact = reached(indices, extents, shape, env)
        cost.bytes_read += count * ITEMSIZE[value.dtype]
        cost.exact = cost.exact and exact
    places = [store.place for store in attrs.stores]
    shape = shape_value(attrs.shape, env)
    count, exact = reached(places, extents, shape, env)
    cost.bytes_written += count * ITEMSIZE[attrs.dtype]
    cost.exact = cost.exact and exact


def _all_loads(roots: Iterable[Expr]) -> list[Expr]:
    from pellucid_compiler.ir.traversal import walk

    return [e for e in walk(*map(without_partials, roots)) if e.op in LOADS]


def reached(
    indices: Sequence[Sequence[Expr]],
    extents: Sequence[int],
    shape: Sequence[int],
    env: Mapping[str, Any],
) -> tuple[int, bool]:
    """The number of distinct elements of an operand of ``shape`` that these indices
    access over the points of ``extents``, and whether it is exact. Indices out of
    bounds access nothing.
    """
    if 0 in extents:
        return 0, True
    bound = prod(shape)
    sets: list[tuple[int, ...]] = []
    for index in dict.fromkeys(map(tuple, indices)):
        if any(is_loaded(e) for e in index):
            return min(bound, prod(extents) * len(indices)), False
        masks = _product_of_masks(index, extents, shape, env)
        if masks is None:
            return _enumerated(indices, extents, shape, env)
        sets.append(masks)
    if len(sets) > _MOST_UNIONS:
        return _enumerated(indices, extents, shape, env)
    return _union(sets), True


def _product_of_masks(
    index: Sequence[Expr],
    extents: Sequence[int],
    shape: Sequence[int],
    env: Mapping[str, Any],
) -> tuple[int, ...] | None:
    """Per dim the indices accessed, as bits; None if dims share axes."""
    used: set[int] = set()
    masks = []
    for e, size in zip(index, shape, strict=True):
        axes = axes_of(e)
        points = prod(extents[k] for k in axes)
        if axes & used or (e.op != "axis" and points > _MOST_POINTS):
            return None
        used |= axes
        if e.op == "axis":
            masks.append((1 << min(extents[e.attr], size)) - 1)
        else:
            masks.append(_mask(_places(e, sorted(axes), extents, env), size))
    return tuple(masks)


def _mask(places: Iterable[int], size: int) -> int:
    """The ``places`` that are in bounds, as bits."""
    if isinstance(places, range) and places.step == 1:
        first, last = max(places.start, 0), min(places.stop, size)
        return ((1 << max(last - first, 0)) - 1) << first
    found = bytearray(size // 8 + 1)
    for place in places:
        if 0 <= place < size:
            found[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(found, "little")


def _places(
    e: Expr, axes: Sequence[int], extents: Sequence[int], env: Mapping[str, Any]
) -> Iterable[int]:
    if len(axes) == 1 and (parts := linear_in(e, axes[0])) is not None:
        factor, first = (int(size_value(part, env)) for part in parts)
        if factor > 0:
            return range(first, first + extents[axes[0]] * factor, factor)
    named = _with_named_axes(e)
    return {
        _value_at(named, dict(zip(axes, point, strict=True)), env)
        for point in product(*(range(extents[k]) for k in axes))
    }


def index_value(e: Expr, point: Mapping[int, int], env: Mapping[str, Any]) -> int:
    """The value of an index at one point."""
    return _value_at(_with_named_axes(e), point, env)


def _value_at(named: Expr, point: Mapping[int, int], env: Mapping[str, Any]) -> int:
    """The same for an index whose axes are symbols."""
    axes = {f"axis.{k}": place for k, place in point.items()}
    return int(size_value(named, {**env, **axes}))


def _with_named_axes(e: Expr) -> Expr:
    from pellucid_compiler.ir.expr import axis, sym
    from pellucid_compiler.ir.traversal import substitute

    return substitute(e, {axis(k): sym(f"axis.{k}") for k in axes_of(e)})


def _union(sets: Sequence[tuple[int, ...]]) -> int:
    """The number of elements in the union of these boxes, by inclusion-exclusion."""
    total = 0
    for count in range(1, len(sets) + 1):
        sign = 1 if count % 2 else -1
        for chosen in combinations(sets, count):
            shared = reduce(_intersection, chosen)
            total += sign * prod(mask.bit_count() for mask in shared)
    return total


def _intersection(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x & y for x, y in zip(a, b, strict=True))


def _enumerated(
    indices: Sequence[Sequence[Expr]],
    extents: Sequence[int],
    shape: Sequence[int],
    env: Mapping[str, Any],
) -> tuple[int, bool]:
    """Like `reached`, point by point; a bound if there are too many."""
    axes = sorted({k for index in indices for e in index for k in axes_of(e)})
    if prod(extents[k] for k in axes) * len(indices) > _MOST_POINTS:
        return min(prod(shape), prod(extents) * len(indices)), False
    found = set()
    for point in product(*(range(extents[k]) for k in axes)):
        named = dict(zip(axes, point, strict=True))
        for index in indices:
            place = tuple(index_value(e, named, env) for e in index)
            if all(0 <= p < size for p, size in zip(place, shape, strict=True)):
                found.add(place)
    return len(found), True

"""Any loop as a general nest: computed indices, padded loads, several stores, scatters.

The kernel receives whole operands with their sizes and strides, and checks every index
that was not proved in bounds here. What loops.py cannot run as an affine nest comes
here; this handles every loop. Called by nodes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pellucid_compiler.abi.plan import (
    GeneralStep,
)
from pellucid_compiler.codegen.kernel import Kernel, Nest, Store
from pellucid_compiler.ir.affine import Bounds
from pellucid_compiler.ir.expr import (
    Expr,
    axis,
    intern_expr,
    load_fill,
    load_index,
    same_exprs,
)
from pellucid_compiler.ir.graph import Node
from pellucid_compiler.ir.kinds import has_plain_store, stored_rank
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs
from pellucid_compiler.ir.primitives.loop import identity
from pellucid_compiler.ir.traversal import rewrite, walk
from pellucid_compiler.lower.bodies import BodyConverter, Parameters
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.loops import loop_shape
from pellucid_compiler.lower.registers import LoweringError

SEARCHES: Final = ("max", "min", "argmax", "argmin")
"""The combines for which one kernel can compute values and their indices."""


class _Indices:
    """Loads and stores of one nest; records where indices were not proved in bounds.

    A dim is an operand of the node (None: its result) and a number.
    """

    def __init__(
        self, node: Node, extents: Sequence[Expr], facts: Sequence[Expr]
    ) -> None:
        self.node = node
        self.positions: dict[int, int] = {}
        self.bounds = Bounds(extents, facts)
        self.unproved: set[tuple[int | None, int]] = set()
        self.converter: BodyConverter | None = None

    def replace(self, e: Expr, guarded: bool) -> Expr:
        assert self.converter is not None
        operand = self.node.inputs[e.attr]
        number = self.positions.setdefault(e.attr, len(self.positions))
        self.prove(e.attr, load_index(e), operand.shape)
        args = [self.converter.convert(i) for i in load_index(e)]
        fill = load_fill(e)
        if fill is not None:
            args.append(self.converter.convert(fill))
        return intern_expr(e.op, tuple(args), number, e.dtype)

    def prove(
        self, operand: int | None, index: Sequence[Expr], shape: Sequence[Expr]
    ) -> None:
        for dim, (i, n) in enumerate(zip(index, shape, strict=True)):
            if not self.bounds.is_inside(i, n):
                self.unproved.add((operand, dim))

    def proved(self, num_outputs: int) -> frozenset[tuple[int, int]]:
        """The dims where every index is in bounds, by the kernel's operand numbers."""
        numbers: list[tuple[int | None, int]] = [*self.positions.items()]
        numbers += [(None, len(self.positions) + k) for k in range(num_outputs)]
        ranks = [self.node.inputs[k].rank for k in self.positions]
        ranks += [self.node.outputs[0].rank] * num_outputs
        return frozenset(
            (number, dim)
            for (operand, number), rank in zip(numbers, ranks, strict=True)
            for dim in range(rank)
            if (operand, dim) not in self.unproved
        )


def lower_general(
    node: Node, builder: PlanBuilder, reuses: bool, best: Node | None = None
) -> None:
    """Emit a nest step, after a copy of the updated value unless that may be
    overwritten (``reuses``). For channels-last tensors, channels are then the innermost
    axis of the elements. ``best``: the search for the values whose indices ``node``, an
    argmax, computes; one kernel computes both.
    """
    attrs = _ordered(node.attrs, builder.name)
    parameters = Parameters(builder.registers)
    indices = _Indices(node, attrs.extents, builder.facts)
    converter = BodyConverter(parameters, indices.replace, axes=True)
    indices.converter = converter
    stores = []
    for store in attrs.stores:
        indices.prove(None, store.place, attrs.shape)
        index = tuple(converter.convert(i) for i in store.place)
        payload = None if attrs.payload is None else converter.convert(attrs.payload)
        body = converter.convert(store.body)
        stores.append(Store(index, body, store.drop, payload))
    inputs = [node.inputs[position] for position in indices.positions]
    made = (*node.outputs, *(best.outputs if best else ()))
    form = Nest(
        rank=len(attrs.extents),
        operand_ranks=tuple(v.rank for v in (*made, *inputs)),
        stores=tuple(stores),
        combine=_combine(attrs),
        proved=indices.proved(len(made)),
        channels_last_order=_channels_last(attrs) if builder.images else (),
        begins=_begins(attrs),
    )
    kernel = Kernel(
        form,
        tuple(v.dtype for v in inputs),
        tuple(v.dtype for v in made),
        parameters.dtypes,
    )
    read = tuple(builder.number(v) for v in inputs)
    if attrs.init is None:
        output = builder.define(node.outputs[0])
    else:
        output = builder.update(node.outputs[0], node.inputs[attrs.init], reuses)
    builder.steps.append(
        GeneralStep(
            kernel=builder.use(kernel, parameters.resolve(), parameters.messages),
            extents=builder.sizes(attrs.extents),
            outputs=(output, *map(builder.define, made[1:])),
            inputs=read,
            parallel=_is_parallel(attrs),
            identity=_start(attrs),
            channels_innermost=bool(form.channels_last_order),
            begins=form.begins,
        )
    )


def is_search_for(node: Node, places: Node) -> bool:
    """Whether ``node`` computes the best values, ``places`` their indices."""
    if node.primitive is not LOOP or places.primitive is not LOOP:
        return False
    best, indexed = node.attrs, places.attrs
    return (
        indexed.combine == f"arg{best.combine}"
        and node.inputs == places.inputs
        and best.init is None
        and same_exprs(
            (best.extents, best.stores, best.shape),
            (indexed.extents, indexed.stores, indexed.shape),
        )
    )


def _ordered(attrs: LoopAttrs, name: str) -> LoopAttrs:
    """An argmax with its reduced axes after those of its elements."""
    if attrs.payload is None:
        return attrs
    shape = loop_shape(attrs)
    if shape is None:
        raise LoweringError(f"{name}: an argmax into computed places has no kernel")
    place = {axis(old): axis(new) for new, old in enumerate(shape.order)}

    def moved(e: Expr) -> Expr:
        return rewrite(e, lambda n, _: place.get(n) if n.op == "axis" else None)

    store = attrs.store
    index = tuple(map(moved, store.place))
    return attrs._replace(
        extents=tuple(attrs.extents[a] for a in shape.order),
        stores=(store._replace(place=index, body=moved(store.body)),),
        payload=moved(attrs.payload),
    )


def _channels_last(attrs: LoopAttrs) -> tuple[int, ...]:
    """The axes in channels-last order: the axis of the output's second dim after the
    other stored ones. Empty if they already have that order, if the dim has no axis, or
    if it is the first axis, which is distributed over threads.
    """
    if len(attrs.shape) < 3:
        return ()
    channel = attrs.stores[0].place[1]
    if any(store.place[1] is not channel for store in attrs.stores):
        return ()
    if channel.op != "axis" or channel.attr == 0:
        return ()
    places = [index for store in attrs.stores for index in store.place]
    last = max(e.attr for e in walk(*places) if e.op == "axis")
    order = [axis for axis in range(len(attrs.extents)) if axis != channel.attr]
    order.insert(last, channel.attr)
    return () if last == channel.attr else tuple(order)


def _combine(attrs: LoopAttrs) -> str:
    """The combine of the stores; none is needed with one point per element."""
    shape = loop_shape(attrs)
    if shape is not None and not shape.reduced and attrs.payload is None:
        return "assign"
    return attrs.combine


def _start(attrs: LoopAttrs) -> bool | int | float | None:
    """The output's initial contents; None: every element is assigned."""
    shape = loop_shape(attrs)
    covered = attrs.covered or (shape is not None and not shape.reduced)
    if attrs.init is not None or (_combine(attrs) == "assign" and covered):
        return None
    if attrs.payload is not None:
        return None
    return identity(attrs.combine, attrs.dtype)


def _begins(attrs: LoopAttrs) -> bool:
    """Whether the kernel can initialise every element: its points are consecutive."""
    if _start(attrs) is None or not has_plain_store(attrs) or attrs.stores[0].drop:
        return False
    return stored_rank(attrs) < len(attrs.extents)


def _is_parallel(attrs: LoopAttrs) -> bool:
    """Whether points that differ in the first axis write different elements."""
    first = {
        next((d for d, i in enumerate(s.place) if i.op == "axis" and i.attr == 0), None)
        for s in attrs.stores
    }
    return len(first) == 1 and None not in first

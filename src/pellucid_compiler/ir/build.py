"""Builders of loops and reshapes, used by every transform and the declaration language.

While a loop is being built, its loads name Values; ``emit_loop`` puts it in canonical
form (stored axes first, extents of 1 removed, accumulating affine stores solved into
gathers) and numbers the operands. Read next: gather_form.py, kinds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pellucid_compiler.ir.affine import Bounds
from pellucid_compiler.ir.dtypes import stored_dtype
from pellucid_compiler.ir.expr import (
    AXES,
    LOADED,
    LOADS,
    Expr,
    ExprLike,
    as_expr,
    as_index,
    axis,
    cast,
    const,
    intern_expr,
    is_const,
    load,
    padded_load,
    rebuild,
    same_exprs,
)
from pellucid_compiler.ir.gather_form import gather_form
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives.loop import LOOP, LoopAttrs, Store
from pellucid_compiler.ir.primitives.reshape import RESHAPE, ReshapeAttrs
from pellucid_compiler.ir.primitives.scan import SCAN, ScanAttrs
from pellucid_compiler.ir.traversal import bottom_up, rewrite, walk, with_operand


def element(value: Value, index: Sequence[ExprLike]) -> Expr:
    """The element of a Value at ``index``; out of bounds is an error."""
    if len(index) != value.rank:
        raise TypeError(
            f"a tensor of rank {value.rank} was indexed with {len(index)} indices"
        )
    return load(value, index, value.dtype)


def padded_element(value: Value, index: Sequence[ExprLike], fill: ExprLike) -> Expr:
    """The element of a Value at ``index``, or ``fill`` out of bounds."""
    return padded_load(value, index, fill, value.dtype)


def all_axes(rank: int) -> list[Expr]:
    return [axis(k) for k in range(rank)]


def emit_map(
    graph: Graph, shape: Sequence[Expr], body: Callable[..., ExprLike]
) -> Value:
    """The tensor whose element at ``i, j, ...`` is ``body(i, j, ...)``."""
    axes = all_axes(len(shape))
    return emit_loop(graph, shape, [Store(tuple(axes), as_expr(body(*axes)))])


def emit_reshape(graph: Graph, value: Value, shape: Sequence[ExprLike]) -> Value:
    sizes = tuple(as_index(n) for n in shape)
    if same_exprs(sizes, value.shape):
        return value
    return graph.emit(RESHAPE, [value], ReshapeAttrs(sizes))[0]


def emit_loop(
    graph: Graph,
    extents: Sequence[ExprLike],
    stores: Sequence[Store],
    combine: str = "sum",
    shape: Sequence[ExprLike] | None = None,
    payload: Expr | None = None,
    init: Value | None = None,
    covered: bool = False,
    solves: bool = True,
) -> Value:
    """Emit a loop in canonical form; a sum may become several loops over its output.

    Injective stores of a sum add to ``init``, or to zeros, in successive loops. Without
    ``solves``, stores are not solved into gathers.
    """
    space = [as_index(n) for n in extents]
    if shape is None:
        shape = space[: len(stores[0].place)]
    sizes = tuple(as_index(n) for n in shape)
    if combine == "sum" and len(sizes) > 0 and solves:
        solved = [gather_form(space, s, sizes) for s in stores]
        if all(solved):
            result = init
            for form in solved:
                assert form is not None
                if form.is_partial:
                    result = _emit(
                        graph, form.extents, [form.store], combine, sizes, init=result
                    )
                    continue
                piece = _emit(graph, form.extents, [form.store], combine, sizes)
                result = piece if result is None else emit_sum(graph, result, piece)
            assert result is not None
            return result
    return _emit(graph, space, stores, combine, sizes, payload, init, covered)


def emit_sum(graph: Graph, first: Value | None, second: Value | None) -> Value | None:
    """The sum of two tensors of one shape; None is zero."""
    if first is None or second is None:
        return second if first is None else first
    a, b = first, second
    return emit_map(graph, a.shape, lambda *p: element(a, p) + element(b, p))


def emit_filled(
    graph: Graph, shape: Sequence[ExprLike], fill: ExprLike, dtype: str
) -> Value:
    sizes = [as_index(n) for n in shape]
    return emit_map(graph, sizes, lambda *p: cast(fill, dtype))


def emit_copy(graph: Graph, value: Value) -> Value:
    """A loop that copies ``value``, which ``emit_map`` would omit."""
    wide = [d for d, n in enumerate(value.shape) if not is_const(n, 1)]
    place = [const(0, "int64")] * value.rank
    for k, d in enumerate(wide):
        place[d] = axis(k)
    store = Store(tuple(place), load(0, place, value.dtype))
    extents = tuple(value.shape[d] for d in wide)
    return graph.emit(LOOP, [value], LoopAttrs(extents, (store,), "sum", value.shape))[
        0
    ]


def emit_scan(
    graph: Graph,
    step: Graph,
    carries: Sequence[Value],
    sequences: Sequence[Value],
    constants: Sequence[Value],
    attrs: ScanAttrs,
) -> tuple[Value, ...]:
    """A scan of ``step`` in the direction of ``attrs``; sequences and constants that
    the step does not read are dropped.
    """
    given = [*carries, *sequences, *constants]
    used, num_carries = set(step.used_inputs()), len(carries)
    end = num_carries + len(sequences)
    read = [k for k in range(len(given)) if k < num_carries or k in used]
    step.inputs = [step.inputs[k] for k in read]
    num_constants = sum(k >= end for k in read)
    made = attrs._replace(
        step=step, num_carries=num_carries, num_constants=num_constants
    )
    return graph.emit(SCAN, [given[k] for k in read], made)


def zeros_like(graph: Graph, value: Value) -> Value:
    return emit_filled(graph, value.shape, 0, value.dtype)


def expand_leading(graph: Graph, value: Value, size: Expr) -> Value:
    """``value`` repeated along a new leading axis."""
    return emit_map(graph, (size, *value.shape), lambda _, *p: element(value, p))


def _emit(
    graph: Graph,
    extents: Sequence[Expr],
    stores: Sequence[Store],
    combine: str,
    shape: tuple[Expr, ...],
    payload: Expr | None = None,
    init: Value | None = None,
    covered: bool = False,
) -> Value:
    order = _axis_order(extents, stores)
    renumbered = {old: axis(new) for new, old in enumerate(order)}
    space = [extents[a] for a in order]
    bounds = Bounds(space)
    operands: list[Value] = []

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if e.op == "axis":
            return renumbered.get(e.attr, const(0, "int64"))
        if e.op in LOADS:
            if e.attr not in operands:
                operands.append(e.attr)
            return _load_of(e, args, operands.index(e.attr), bounds)
        return None

    memo: dict[Expr, Expr] = {}
    dtype = stored_dtype(stores[0].body.dtype)
    if payload is not None:
        payload = rewrite(cast(payload, stored_dtype(payload.dtype)), leaf, memo)
    final = []
    for store in stores:
        body = store.body if payload is not None else cast(store.body, dtype)
        index = tuple(rewrite(as_index(i), leaf, memo) for i in store.place)
        settled = rewrite(body, leaf, memo, LOADED | AXES)
        if space:
            settled = settle(settled, bounds)
        final.append(Store(index, settled, _drops(store, index, shape, bounds)))
    if init is not None and init not in operands:
        operands.append(init)
    attrs = LoopAttrs(
        tuple(space),
        tuple(final),
        combine,
        shape,
        payload,
        None if init is None else operands.index(init),
        covered,
    )
    if _is_identity(operands, attrs):
        return operands[0]
    return graph.emit(LOOP, operands, attrs)[0]


def settle(e: Expr, bounds: Bounds) -> Expr:
    """``e`` without selects whose condition is decided in the space."""
    memo: dict[Expr, Expr] = {}
    taken: dict[Expr, Expr] = {}  # the branches of such selects

    def operands(node: Expr) -> tuple[Expr, ...]:
        if node.op == "select" and node not in taken:
            choice = bounds.decide(node.args[0])
            taken[node] = node if choice is None else node.args[1 if choice else 2]
        branch = taken.get(node, node)
        return node.args if branch is node else (branch,)

    def settled(node: Expr) -> Expr:
        branch = taken.get(node, node)
        if branch is not node:
            return memo[branch]
        return rebuild(node, tuple([memo[a] for a in node.args]))

    return bottom_up(e, memo, operands, settled)


def _is_identity(operands: Sequence[Value], attrs: LoopAttrs) -> bool:
    """Whether the loop only copies its operand element by element."""
    if len(operands) != 1 or len(attrs.stores) != 1 or attrs.init is not None:
        return False
    store, (operand,) = attrs.stores[0], operands
    if store.body.op != "load" or len(attrs.extents) > operand.rank:
        return False
    return same_exprs(attrs.shape, operand.shape) and all(
        (i is j and (i.op == "axis" or is_const(n, 1)))
        for i, j, n in zip(store.place, store.body.args, attrs.shape, strict=True)
    )


def _axis_order(extents: Sequence[Expr], stores: Sequence[Store]) -> list[int]:
    """The stored axes in the order of the output's dims, then the others; axes of
    extent 1 are dropped.
    """
    stored = [e.attr for e in walk(*stores[0].place) if e.op == "axis"]
    order = dict.fromkeys([*stored, *range(len(extents))])
    return [a for a in order if not is_const(extents[a], 1)]


def _load_of(e: Expr, args: tuple[Expr, ...], position: int, bounds: Bounds) -> Expr:
    """Replace a padded load whose index is always inside by a plain one."""
    if e.op == "padded_load":
        index = args[:-1]
        if all(
            bounds.is_inside(i, n) for i, n in zip(index, e.attr.shape, strict=True)
        ):
            return intern_expr("load", index, position, e.dtype)
    return with_operand(e, position, args)


def _drops(
    store: Store, index: Sequence[Expr], shape: Sequence[Expr], bounds: Bounds
) -> bool:
    return store.drop and not all(
        bounds.is_inside(i, n) for i, n in zip(index, shape, strict=True)
    )


def over_values(e: Expr, values: Sequence[Value] | Mapping[Any, Value]) -> Expr:
    """A node's expression with loads that name ``values`` instead of positions."""
    return rewrite(
        e,
        lambda n, args: (
            with_operand(n, values[n.attr], args) if n.op in LOADS else None
        ),
        within=LOADED,
    )


def stores_over(node: Node, values: Sequence[Value]) -> list[Store]:
    """A loop's stores with loads that name ``values``."""
    return [
        Store(
            tuple(over_values(i, values) for i in store.place),
            over_values(store.body, values),
            store.drop,
        )
        for store in node.attrs.stores
    ]

"""Transposition of a Graph that is linear in some inputs: cotangents flow back through
it.

``transpose(graph, linear)`` maps (the other inputs, cotangents of the outputs) to the
cotangents of the linear inputs. Each rule is the exact dual of its primitive: a load
becomes a store, a padded load a dropping store, a recurrence a reverse one. Conjugation
and real projections are inserted here, so that integer and real inputs need no special
rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pellucid_compiler.ir.affine import Bounds
from pellucid_compiler.ir.build import (
    element,
    emit_loop,
    emit_reshape,
    emit_sum,
    over_values,
    padded_element,
    zeros_like,
)
from pellucid_compiler.ir.expr import Expr, cast, const, load_index
from pellucid_compiler.ir.gather_form import gather_form
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.partials import partials, pulled_back
from pellucid_compiler.ir.primitives import (
    ROUTINES,
    LibraryAttrs,
    LoopAttrs,
    ScanAttrs,
    Store,
)
from pellucid_compiler.ir.traversal import checked_loads
from pellucid_compiler.transforms.reverse_scan import ReverseScan

Cotangents: TypeAlias = "dict[int, Value | None]"
TransposeRule: TypeAlias = (
    "Callable[[Graph, Node, list[Value | None], list[bool], list[Value | None]],"
    "Cotangents]"
)


def transpose(graph: Graph, linear: Sequence[int]) -> Graph:
    """(inputs that are not linear, cotangents of the outputs) -> cotangents of
    ``linear``.
    """
    g = Graph(f"{graph.name}.transpose")
    moving = {graph.inputs[p] for p in linear}
    env = {v: g.input_like(v) for v in graph.inputs if v not in moving}
    order = []
    for node in graph.nodes:
        if any(v in moving for v in node.inputs):
            moving.update(node.outputs)
            order.append(node)
        else:
            g.copy_node(node, env)
    cotangents: dict[Value, Value | None] = {}
    for k, value in enumerate(graph.outputs):
        ct = g.input(value.shape, value.dtype, "grad" if k == 0 else f"grad_{k}")
        if value in moving:
            cotangents[value] = emit_sum(g, cotangents.get(value), ct)
    for node in reversed(order):
        _transpose_node(g, node, env, moving, cotangents)
    g.outputs = []
    for p in linear:
        found = cotangents.get(graph.inputs[p])
        g.outputs.append(zeros_like(g, graph.inputs[p]) if found is None else found)
    return g.prune()


def _transpose_node(
    g: Graph,
    node: Node,
    env: dict[Value, Value],
    moving: set[Value],
    cotangents: dict[Value, Value | None],
) -> None:
    arriving = [cotangents.get(v) for v in node.outputs]
    if all(ct is None for ct in arriving):
        return
    is_linear = [v in moving for v in node.inputs]
    inputs = [env.get(v) for v in node.inputs]
    rule = _RULES.get(node.primitive.name)
    if rule is None:
        raise NotImplementedError(
            f"{node.primitive.name} is not linear: linearise the Graph first"
        )
    for p, ct in rule(g, node, inputs, is_linear, arriving).items():
        value = node.inputs[p]
        if ct is not None:
            assert ct.dtype == value.dtype, (node.primitive.name, ct, value)
            cotangents[value] = emit_sum(g, cotangents.get(value), ct)


# ------------------------------------------------------------------ loop


def _loop(
    g: Graph,
    node: Node,
    inputs: list[Value | None],
    linear: list[bool],
    cts: list[Value | None],
) -> Cotangents:
    attrs: LoopAttrs = node.attrs
    (ct,) = cts
    assert ct is not None and attrs.combine in ("sum", "assign"), attrs.combine
    result: Cotangents = {}
    if attrs.init is not None and linear[attrs.init]:
        result[attrs.init] = _init_cotangent(g, node, inputs, ct)
    contributions = _contributions(node, inputs, linear, ct)
    for position, stores in contributions.items():
        shape = node.inputs[position].shape
        gradient = _accumulate(g, attrs.extents, stores, shape)
        result[position] = emit_sum(g, result.get(position), gradient)
    return result


def _init_cotangent(
    g: Graph, node: Node, inputs: list[Value | None], ct: Value
) -> Value:
    """``sum`` passes the cotangent on; ``assign`` overwrote some elements."""
    attrs: LoopAttrs = node.attrs
    if attrs.combine == "sum":
        return ct
    zero = const(0, ct.dtype)
    known = _known(node, inputs)
    stores = [
        Store(tuple(over_values(i, known) for i in s.place), zero, s.drop)
        for s in attrs.stores
    ]
    return emit_loop(g, attrs.extents, stores, "assign", attrs.shape, init=ct)


def _known(node: Node, inputs: list[Value | None]) -> list[Value]:
    """The node's operands in the new Graph; a linear one keeps its old Value."""
    return [
        old if new is None else new
        for old, new in zip(node.inputs, inputs, strict=True)
    ]


def _contributions(
    node: Node, inputs: list[Value | None], linear: list[bool], ct: Value
) -> dict[int, list[Store]]:
    """For each linear operand: which of its elements receives which part of the
    cotangent.
    """
    attrs: LoopAttrs = node.attrs
    bounds = Bounds(attrs.extents)
    known = _known(node, inputs)
    unknown = {v: k for k, v in enumerate(known) if linear[k]}
    found: dict[int, list[Store]] = {}
    for store in attrs.stores:
        body = over_values(store.body, known)
        place = [over_values(i, known) for i in store.place]
        arriving = padded_element(ct, place, 0) if store.drop else element(ct, place)
        slopes = partials(body, lambda e: e.attr in unknown)
        checked = checked_loads(body)
        for leaf, term in pulled_back(body, slopes, arriving):
            position = unknown[leaf.attr]
            index = load_index(leaf)
            inside = leaf in checked or all(
                bounds.is_inside(i, n)
                for i, n in zip(index, leaf.attr.shape, strict=True)
            )
            piece = Store(index, cast(term, leaf.dtype), not inside)
            found.setdefault(position, []).append(piece)
    return found


def _accumulate(
    g: Graph, extents: Sequence[Expr], stores: list[Store], shape: tuple[Expr, ...]
) -> Value | None:
    """Solvable stores become gathers; the rest is one scatter with several stores."""
    solved: list[Store] = []
    rest: list[Store] = []
    for store in stores:
        (rest if gather_form(extents, store, shape) is None else solved).append(store)
    total: Value | None = None
    for store in solved:
        total = emit_loop(g, extents, [store], shape=shape, init=total)
    if rest:
        total = emit_sum(g, total, emit_loop(g, extents, rest, shape=shape))
    return total


# ------------------------------------------------------------------ the other primitive


def _reshape(
    g: Graph,
    node: Node,
    inputs: list[Value | None],
    linear: list[bool],
    cts: list[Value | None],
) -> Cotangents:
    (ct,) = cts
    assert ct is not None
    return {0: emit_reshape(g, ct, node.inputs[0].shape)}


def _scan(
    g: Graph,
    node: Node,
    inputs: list[Value | None],
    linear: list[bool],
    cts: list[Value | None],
) -> Cotangents:
    attrs: ScanAttrs = node.attrs
    step = Graph(attrs.step.name)
    step.inputs, step.nodes = attrs.step.inputs, attrs.step.nodes
    k = attrs.num_carries
    step.outputs = [
        v
        for j, (v, ct) in enumerate(zip(attrs.step.outputs, cts, strict=True))
        if j < k or ct is not None
    ]
    positions = [p for p in range(len(inputs)) if p < k or linear[p]]
    back = transpose(step, positions)
    return ReverseScan(g, node, inputs, positions, back, cts).cotangents(linear)


def _library(
    g: Graph,
    node: Node,
    inputs: list[Value | None],
    linear: list[bool],
    cts: list[Value | None],
) -> Cotangents:
    attrs: LibraryAttrs = node.attrs
    routine = ROUTINES[attrs.routine]
    rule, place = routine.transpose, routine.linear_in
    others = [v for k, v in enumerate(inputs) if k != place]
    if rule is None or any(moves for k, moves in enumerate(linear) if k != place):
        raise NotImplementedError(
            f"the library routine {attrs.routine} is not linear: linearise it first"
        )
    shape, options = node.inputs[place].shape, dict(attrs.options)
    return {place: rule(g, cts[0], shape, *others, **options)}


_RULES: Final[dict[str, TransposeRule]] = {
    "loop": _loop,
    "reshape": _reshape,
    "scan": _scan,
    "library": _library,
}

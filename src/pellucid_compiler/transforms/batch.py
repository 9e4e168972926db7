"""Batching: the Graph for many examples at once, with a new leading axis.

A loop gets one more axis, a scan's step is batched, and a library routine is batched
over leading axes already. ``vmap`` and the transpose of ``scan`` use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pellucid_compiler.ir.build import (
    element,
    emit_loop,
    emit_map,
    emit_reshape,
    expand_leading,
)
from pellucid_compiler.ir.expr import LOADS, Expr, axis, const, intern_expr
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives import (
    CALL,
    LIBRARY,
    ROUTINES,
    SCAN,
    CallAttrs,
    LoopAttrs,
    ScanAttrs,
    Store,
)
from pellucid_compiler.ir.traversal import rewrite

BatchRule: TypeAlias = (
    "Callable[[Graph, Node, list[Value], list[bool], Expr], Sequence[Value]]"
)


class SizesDiffer(NotImplementedError):
    """Examples whose sizes depend on their values have no common shape."""


def batch(graph: Graph, batched: Sequence[bool], size: Expr) -> Graph:
    """Inputs flagged in ``batched`` and every output get a leading axis of ``size``.

    Raises SizesDiffer if a size depends on the values of batched inputs.
    """
    g = Graph(f"{graph.name}.batch")
    g.requirements = list(graph.requirements)
    env: dict[Value, Value] = {}
    flags: dict[Value, bool] = {}
    for value, flag in zip(graph.inputs, batched, strict=True):
        shape = (size, *value.shape) if flag else value.shape
        env[value], flags[value] = g.input(shape, value.dtype, value.name), flag
    for node in graph.nodes:
        mine = [flags[v] for v in node.inputs]
        if any(mine):
            inputs = [env[v] for v in node.inputs]
            outputs = _RULES[node.primitive.name](g, node, inputs, mine, size)
            env.update(zip(node.outputs, outputs, strict=True))
        else:
            g.copy_node(node, env)
        flags.update((v, any(mine)) for v in node.outputs)
    g.outputs = [
        env[v] if flags[v] else expand_leading(g, env[v], size) for v in graph.outputs
    ]
    return g.prune()


def _all_batched(
    g: Graph, inputs: list[Value], batched: list[bool], size: Expr
) -> list[Value]:
    return [
        v if flag else expand_leading(g, v, size)
        for v, flag in zip(inputs, batched, strict=True)
    ]


def _loop(
    g: Graph, node: Node, inputs: list[Value], batched: list[bool], size: Expr
) -> Sequence[Value]:
    attrs: LoopAttrs = node.attrs

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if e.op == "axis":
            return axis(e.attr + 1)
        if e.op in LOADS:
            index = (axis(0), *args) if batched[e.attr] else args
            return intern_expr(e.op, index, inputs[e.attr], e.dtype)
        return None

    memo: dict[Expr, Expr] = {}

    def moved(e: Expr) -> Expr:
        return rewrite(e, leaf, memo)

    stores = [
        Store((axis(0), *map(moved, s.place)), moved(s.body), s.drop)
        for s in attrs.stores
    ]
    init = None
    if attrs.init is not None:
        init = inputs[attrs.init]
        if not batched[attrs.init]:
            init = expand_leading(g, init, size)
    return [
        emit_loop(
            g,
            (size, *attrs.extents),
            stores,
            attrs.combine,
            (size, *attrs.shape),
            None if attrs.payload is None else moved(attrs.payload),
            init,
            attrs.covered,
        )
    ]


def _reshape(
    g: Graph, node: Node, inputs: list[Value], batched: list[bool], size: Expr
) -> Sequence[Value]:
    return [emit_reshape(g, inputs[0], (size, *node.attrs.shape))]


def _scan(
    g: Graph, node: Node, inputs: list[Value], batched: list[bool], size: Expr
) -> Sequence[Value]:
    """Time stays the leading axis of the sequences; the batch axis is second."""
    attrs: ScanAttrs = node.attrs
    k, end = attrs.num_carries, len(inputs) - attrs.num_constants
    carries = _all_batched(g, inputs[:k], batched[:k], size)
    sequences = [
        _swap_leading(g, v) if flag else v
        for v, flag in zip(inputs[k:end], batched[k:end], strict=True)
    ]
    step = batch(attrs.step, [True] * k + batched[k:], size)
    given = carries + sequences + inputs[end:]
    stacks = g.emit(SCAN, given, attrs._replace(step=step))
    return [_swap_leading(g, stack) for stack in stacks]


def _swap_leading(g: Graph, value: Value) -> Value:
    first, second, *rest = value.shape
    return emit_map(
        g, (second, first, *rest), lambda i, j, *p: element(value, [j, i, *p])
    )


def _library(
    g: Graph, node: Node, inputs: list[Value], batched: list[bool], size: Expr
) -> Sequence[Value]:
    """Operands whose leading dims broadcast get the new axis before all of them."""
    given = _all_batched(g, inputs, batched, size)
    core = ROUTINES[node.attrs.routine].core_dims(node.attrs.options)
    leading = [v.rank - n for v, n in zip(given, core, strict=False)]
    for k, count in enumerate(leading):
        missing = max(leading) - count
        if missing:
            shape = (size, *[const(1)] * missing, *given[k].shape[1:])
            given[k] = emit_reshape(g, given[k], shape)
    return g.emit(LIBRARY, given, node.attrs)


def _nonzero(
    g: Graph, node: Node, inputs: list[Value], batched: list[bool], size: Expr
) -> Sequence[Value]:
    raise SizesDiffer("nonzero of every example would have a size of its own")


def _call(
    g: Graph, node: Node, inputs: list[Value], batched: list[bool], size: Expr
) -> Sequence[Value]:
    attrs: CallAttrs = node.attrs

    def whole(graph: Graph) -> Graph:
        return batch(graph, [True] * len(graph.inputs), size)

    return g.emit(
        CALL,
        _all_batched(g, inputs, batched, size),
        attrs._replace(body=whole(attrs.body), vjp=whole(attrs.vjp)),
    )


_RULES: Final[dict[str, BatchRule]] = {
    "loop": _loop,
    "reshape": _reshape,
    "scan": _scan,
    "library": _library,
    "nonzero": _nonzero,
    "call": _call,
}

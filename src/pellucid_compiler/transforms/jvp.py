"""Linearisation: the Graph of the tangents, node by node.

``jvp(graph, wrt)`` maps (inputs, tangents of ``wrt``) to tangents of the differentiable
outputs. A rule receives the node's inputs and outputs in the new Graph and may read
either; a tangent that would contain the forward body reads the output instead, which
determines what a derivative saves. Read next: transpose.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pellucid_compiler.ir.build import (
    element,
    emit_map,
    emit_reshape,
    emit_scan,
    zeros_like,
)
from pellucid_compiler.ir.expr import (
    Expr,
    cast,
    select,
)
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives import (
    LIBRARY,
    CallAttrs,
    LoopAttrs,
    ReshapeAttrs,
    ScanAttrs,
)
from pellucid_compiler.transforms.loop_tangent import LoopTangent

Tangents: TypeAlias = "Sequence[Value | None]"
JvpRule: TypeAlias = (
    "Callable[[Graph, Node, list[Value], Sequence[Value], Tangents], Tangents]"
)


def jvp(
    graph: Graph,
    wrt: Sequence[int],
    primal: bool = False,
    given_outputs: bool = False,
) -> Graph:
    """(inputs, tangents of ``wrt``) -> tangents of the differentiable outputs.

    With ``primal`` the outputs themselves come first. With ``given_outputs`` the
    outputs are additional inputs, between the inputs and the tangents, and are read
    instead of recomputed.
    """
    g = Graph(f"{graph.name}.jvp")
    env = {value: g.input_like(value) for value in graph.inputs}
    given = _given_outputs(g, graph) if given_outputs else {}
    tangent = {
        graph.inputs[k]: g.input(
            graph.inputs[k].shape, graph.inputs[k].dtype, _named("d", graph.inputs[k])
        )
        for k in wrt
    }
    for node in graph.nodes:
        g.copy_node(node, env)
        env.update((v, given[v]) for v in node.outputs if v in given)
        outputs = [env[v] for v in node.outputs]
        moving = [tangent.get(value) for value in node.inputs]
        if all(t is None for t in moving):
            continue
        inputs = [env[value] for value in node.inputs]
        rule = _RULES[node.primitive.name]
        for value, new in zip(
            node.outputs, rule(g, node, inputs, outputs, moving), strict=True
        ):
            if new is not None:
                assert new.dtype == value.dtype, (graph.name, new, value)
                tangent[value] = new
    results = [
        tangent[value] if value in tangent else zeros_like(g, env[value])
        for value in graph.outputs
        if value.differentiable
    ]
    g.outputs = ([env[value] for value in graph.outputs] if primal else []) + results
    return g.prune()


def _given_outputs(g: Graph, graph: Graph) -> dict[Value, Value]:
    return {
        value: g.input(value.shape, value.dtype, "result" if k == 0 else f"result_{k}")
        for k, value in enumerate(graph.outputs)
    }


def _named(prefix: str, value: Value) -> str | None:
    return f"{prefix}_{value.name}" if value.name else None


# ------------------------------------------------------------------ loop


def _loop(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    attrs: LoopAttrs = node.attrs
    if not outputs[0].differentiable or attrs.combine in ("argmax", "argmin"):
        return [None]
    return [LoopTangent(g, node, inputs, outputs[0], tangents).tangent()]


# ------------------------------------------------------------------ the other primitive


def _reshape(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    attrs: ReshapeAttrs = node.attrs
    (t,) = tangents
    return [None if t is None else emit_reshape(g, t, attrs.shape)]


def _scan(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    """A scan over the tangents of the carries, given the carries that each step
    received and its results.
    """
    attrs: ScanAttrs = node.attrs
    k, n, end = attrs.num_carries, len(inputs), len(inputs) - attrs.num_constants
    wrt = [
        p
        for p, t in enumerate(tangents)
        if t is not None or (p < k and inputs[p].differentiable)
    ]
    step = jvp(attrs.step, wrt, given_outputs=True)
    before = [
        carry_before(g, i, o, attrs) for i, o in zip(inputs[:k], outputs, strict=False)
    ]
    start = [tangents[p] or zeros_like(g, inputs[p]) for p in wrt]
    dots = step.inputs[n + len(outputs) :]
    num_moving = sum(p < k for p in wrt)
    last = num_moving + sum(k <= p < end for p in wrt)
    step.inputs = [
        *dots[:num_moving],
        *(*step.inputs[:end], *step.inputs[n : n + len(outputs)]),
        *(*dots[num_moving:last], *step.inputs[end:n], *dots[last:]),
    ]
    moved = iter(
        emit_scan(
            g,
            step,
            start[:num_moving],
            [*before, *inputs[k:end], *outputs, *start[num_moving:last]],
            [*inputs[end:], *start[last:]],
            attrs,
        )
    )
    return [next(moved) if o.differentiable else None for o in outputs]


def carry_before(
    g: Graph, first: Value | None, stack: Value, attrs: ScanAttrs
) -> Value:
    """The carry that each step received; zero before the first without ``first``."""
    back = 1 if attrs.reverse else -1

    def body(t: Expr, *p: Expr) -> Expr:
        start = cast(0, stack.dtype) if first is None else element(first, p)
        before = element(stack, [t + back, *p])
        if attrs.reverse:
            return select(t < attrs.length - 1, before, start)
        return select(t < 1, start, before)

    return emit_map(g, stack.shape, body)


def _library(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    if not any(o.differentiable for o in outputs):
        return [None] * len(outputs)
    return LIBRARY.jvp(g, node, inputs, outputs, tangents)


def _nonzero(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    return [None]


def _call(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    """The transpose of the hand VJP, which is linear in its cotangents."""
    from pellucid_compiler.transforms.transpose import transpose

    attrs: CallAttrs = node.attrs
    n = len(inputs) + len(outputs)
    forward = transpose(attrs.vjp, list(range(n, len(attrs.vjp.inputs))))
    full = []
    for p in attrs.wrt:
        t = tangents[p]
        full.append(zeros_like(g, inputs[p]) if t is None else t)
    moved = iter(g.inline(forward, [*inputs, *outputs, *full]))
    return [next(moved) if o.differentiable else None for o in outputs]


_RULES: Final[dict[str, JvpRule]] = {
    "loop": _loop,
    "reshape": _reshape,
    "scan": _scan,
    "library": _library,
    "nonzero": _nonzero,
    "call": _call,
}

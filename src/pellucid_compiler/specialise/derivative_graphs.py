"""The Graphs of derivatives: what reads an op's inputs, its results and gradients or
tangents.

A derivative computes again what it needs of the op's intermediate values, except for
those that are results. Called by derivatives.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pellucid_compiler.ir.build import element, emit_map
from pellucid_compiler.ir.dtypes import HALF
from pellucid_compiler.ir.expr import cast, same_exprs
from pellucid_compiler.ir.graph import Graph, Value
from pellucid_compiler.ir.kinds import has_plain_store, view_map
from pellucid_compiler.ir.offers import graph_moves_only
from pellucid_compiler.ir.primitives import CALL, LOOP
from pellucid_compiler.passes import widen_halves
from pellucid_compiler.transforms.jvp import jvp
from pellucid_compiler.transforms.vjp import vjp


def backward_graph(forward: Graph, graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, ``forward``'s outputs, grads of ``graph``'s float outputs) -> grads of
    ``wrt``.

    The backward part reads what it needs of the forward part's results. ``forward`` is
    ``graph``, or has additional outputs.
    """
    return _copy(_made_backward(forward, graph, tuple(wrt)))


def tangent_graph(graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, outputs, tangents of ``wrt``) -> tangents of the outputs."""
    return _copy(_made_tangent(graph, tuple(wrt)))


def _copy(graph: Graph) -> Graph:
    """A copy for an assembly, which renumbers it."""
    return graph.with_outputs(graph.outputs)


# Calls that differ in their arguments share a Graph, and its derivatives.
@lru_cache(128)
def _made_tangent(graph: Graph, wrt: tuple[int, ...]) -> Graph:
    return _without_idle_calls(jvp(graph, wrt, given_outputs=True))


@lru_cache(128)
def _made_backward(forward: Graph, graph: Graph, wrt: tuple[int, ...]) -> Graph:
    g = Graph(f"{graph.name}.vjp")
    inputs = [g.input_like(v) for v in graph.inputs]
    results = [g.input(v.shape, v.dtype) for v in forward.outputs]
    back = vjp(graph, wrt)
    grads = [g.input_like(v) for v in back.inputs[len(inputs) :]]
    env = dict(zip(back.inputs, [*inputs, *grads], strict=True))
    read = _forward_results(g, forward, back, results)
    env.update(read)
    for node in back.nodes:
        if not all(value in env for value in node.outputs):
            g.copy_node(node, env)
            env.update((v, read[v]) for v in node.outputs if v in read)
    g.outputs = [env[value] for value in back.outputs]
    made = _without_idle_calls(g.prune())
    # Moves of halves are not widened, but their transposes may add.
    return widen_halves(made) if graph_moves_only(graph) else made


def _without_idle_calls(graph: Graph) -> Graph:
    """``graph`` with calls of which only saved values are read replaced by the part of
    their bodies that computes these, which may need fewer arguments. The forward op has
    checked the bodies' requirements.
    """
    uses = graph.uses()
    g = Graph(graph.name)
    g.requirements = graph.requirements
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        saved = node.attrs.num_saved if node.primitive is CALL else len(node.outputs)
        count = len(node.outputs) - saved
        if count == 0 or any(map(uses.is_read, node.outputs[:count])):
            g.copy_node(node, env)
            continue
        part = node.attrs.body.with_outputs(node.attrs.body.outputs[count:])
        part.requirements.clear()
        given = [env[v] for v in node.inputs]
        env.update(zip(node.outputs[count:], g.inline(part, given), strict=True))
    g.outputs = [env[value] for value in graph.outputs]
    return g.prune()


def _forward_results(
    g: Graph, graph: Graph, back: Graph, results: Sequence[Value]
) -> dict[Value, Value]:
    """The values of ``back`` that are results of the forward part, read from them."""
    copies: dict[Value, Value] = dict(zip(graph.inputs, back.inputs, strict=False))
    known = {(n.primitive, n.inputs, n.attrs): n for n in back.nodes}
    for node in graph.nodes:
        inputs = tuple(copies.get(value) for value in node.inputs)
        found = None
        if None not in inputs:
            found = known.get((node.primitive, inputs, node.attrs))  # type: ignore[arg-type]
        if found is not None:
            copies.update(zip(node.outputs, found.outputs, strict=True))
    read: dict[Value, Value] = {}
    for value, result in zip(graph.outputs, results, strict=True):
        wide = _rounded_from(value)
        if value in copies and value.node is not None and value.node.inputs:
            read[copies[value]] = result
        if wide is not None and wide in copies and wide not in graph.inputs:
            read[copies[wide]] = _converted(g, result, wide.dtype)
    return read


def _rounded_from(value: Value) -> Value | None:
    """The wide value that a half result is the rounding of."""
    node = value.node
    if value.dtype not in HALF or node is None or node.primitive is not LOOP:
        return None
    if view_map(node) is not None or not has_plain_store(node.attrs):
        return None
    body = node.attrs.store.body
    if body.op != "cast" or body.args[0].op != "load":
        return None
    (source,) = node.inputs
    plain = all(i.op == "axis" for i in body.args[0].args)
    return source if plain and same_exprs(source.shape, value.shape) else None


def _converted(g: Graph, value: Value, dtype: str) -> Value:
    return emit_map(g, value.shape, lambda *p: cast(element(value, p), dtype))

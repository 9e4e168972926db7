"""Half precision made explicit: bfloat16, float16 and narrower are storage formats.

A traced Graph may compute in a half dtype by name. ``widen_halves`` returns the Graph
that runs: inputs are widened to float32 (complex32 to complex64) once, everything
inside computes in that dtype, outputs are rounded at the end, and an explicit
conversion to a half dtype inside a body rounds in place. Code that only moves elements
is unchanged.
"""

from __future__ import annotations

from operator import attrgetter

from pellucid_compiler.ir.build import element, emit_loop, emit_map
from pellucid_compiler.ir.dtypes import HALF, is_float, is_weak, wide_dtype
from pellucid_compiler.ir.expr import (
    LOADS,
    Expr,
    cast,
    const,
    intern_expr,
    make,
    select,
)
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.offers import graph_moves_only
from pellucid_compiler.ir.primitives import (
    CALL,
    LOOP,
    RESHAPE,
    SCAN,
    CallAttrs,
    LoopAttrs,
    Store,
)
from pellucid_compiler.ir.traversal import bottom_up


def widen_halves(graph: Graph, boundary: bool = True) -> Graph:
    """``graph`` computing in the wide dtype in place of storage formats.

    With ``boundary`` inputs and outputs keep their half dtypes; a nested Graph, whose
    neighbours are wide, has no boundary. Values saved for backward stay wide.
    """
    if not _mentions_half(graph):
        return graph
    if boundary and (_only_reshapes(graph) or graph_moves_only(graph)):
        return graph
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env: dict[Value, Value] = {}
    for value in graph.inputs:
        if boundary:
            given = g.input_like(value)
            env[value] = _converted(g, given, wide_dtype(value.dtype))
        else:
            env[value] = g.input(value.shape, wide_dtype(value.dtype), value.name)
    for node in graph.nodes:
        _widen_node(g, node, env)
    g.outputs = [
        _converted(g, env[v], v.dtype) if boundary else env[v] for v in graph.outputs
    ]
    g.saved = [env[v] for v in graph.saved]
    return g.prune()


def _mentions_half(graph: Graph) -> bool:
    values = [*graph.inputs, *(v for node in graph.nodes for v in node.outputs)]
    return any(v.dtype in HALF for v in values)


def _only_reshapes(graph: Graph) -> bool:
    """Whether nothing is computed, so that the result can be a view of the input."""
    return all(node.primitive is RESHAPE for node in graph.nodes)


def _converted(g: Graph, value: Value, dtype: str) -> Value:
    if value.dtype == dtype:
        return value
    return emit_map(g, value.shape, lambda *p: cast(element(value, p), dtype))


def _widen_node(g: Graph, node: Node, env: dict[Value, Value]) -> None:
    inputs = [env[v] for v in node.inputs]
    if node.primitive is LOOP:
        outputs: tuple[Value, ...] = (_widen_loop(g, node, inputs),)
    elif node.primitive is SCAN:
        step = widen_halves(node.attrs.step, boundary=False)
        outputs = g.emit(SCAN, inputs, node.attrs._replace(step=step))
    elif node.primitive is CALL:
        at: CallAttrs = node.attrs
        body = widen_halves(at.body, boundary=False)
        back = widen_halves(at.vjp, boundary=False)
        outputs = g.emit(CALL, inputs, at._replace(body=body, vjp=back))
    else:
        outputs = g.emit(node.primitive, inputs, node.attrs)
    env.update(zip(node.outputs, outputs, strict=True))


def _widen_loop(g: Graph, node: Node, inputs: list[Value]) -> Value:
    attrs: LoopAttrs = node.attrs
    memo: dict[Expr, Expr] = {}

    def widened(e: Expr) -> Expr:
        return _widened(e, tuple([memo[a] for a in e.args]), inputs)

    def wide(e: Expr) -> Expr:
        return bottom_up(e, memo, attrgetter("args"), widened)

    return emit_loop(
        g,
        attrs.extents,
        [Store(tuple(map(wide, s.place)), wide(s.body), s.drop) for s in attrs.stores],
        attrs.combine,
        attrs.shape,
        None if attrs.payload is None else wide(attrs.payload),
        None if attrs.init is None else inputs[attrs.init],
        attrs.covered,
    )


def _widened(e: Expr, args: tuple[Expr, ...], inputs: list[Value]) -> Expr:
    if e.op in LOADS:
        value = inputs[e.attr]
        return intern_expr(e.op, args, value, value.dtype)
    if e.op == "const":
        return const(e.attr, wide_dtype(e.dtype))
    if e.op == "cast" and e.dtype in HALF:
        source = e.args[0].dtype
        if is_weak(source) or not is_float(source):
            return cast(args[0], wide_dtype(e.dtype))  # a count is not rounded
        return cast(cast(args[0], e.dtype), wide_dtype(e.dtype))
    if e.op == "cast":
        return cast(args[0], e.dtype)
    if not args:
        return e
    if e.op == "select":
        return select(*args)
    if e.op in ("with_partials", "checked"):
        return intern_expr(e.op, args, e.attr, args[0].dtype)
    if e.op == "bitcast":
        return intern_expr(e.op, args, e.attr, e.dtype)
    return make(e.op, *args)

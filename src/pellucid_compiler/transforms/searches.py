"""A search for the place of an extreme element, as two reductions: processes that have
parts can combine their results, one number a row each.

``argmax= body -> k`` over an axis k is the greatest body, then the first k whose body
equals it. Called by specialise/staged.py before it chooses a plan.
"""

from __future__ import annotations

from pellucid_compiler.ir.build import element, emit_loop, over_values
from pellucid_compiler.ir.dtypes import highest, is_float
from pellucid_compiler.ir.expr import const, make, select
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives import LOOP, Store


def without_searches(graph: Graph) -> Graph:
    """``graph`` with reductions for each search along one axis."""
    if not any(map(_is_search, graph.nodes)):
        return graph
    made = Graph(graph.name)
    made.requirements = list(graph.requirements)
    env = {value: made.input_like(value) for value in graph.inputs}
    for node in graph.nodes:
        if _is_search(node):
            env[node.outputs[0]] = _reduced(made, node, [env[v] for v in node.inputs])
        else:
            made.copy_node(node, env)
    made.outputs = [env[value] for value in graph.outputs]
    made.saved = [env[value] for value in graph.saved]
    return made


def _is_search(node: Node) -> bool:
    """Whether a loop finds the index of an axis: the first one, as axes ascend."""
    if node.primitive is not LOOP or node.attrs.payload is None:
        return False
    return bool(node.attrs.payload.op == "axis" and len(node.attrs.stores) == 1)


def _reduced(graph: Graph, node: Node, inputs: list[Value]) -> Value:
    attrs = node.attrs
    place = tuple(over_values(index, inputs) for index in attrs.store.place)
    body = over_values(attrs.store.body, inputs)
    combine = attrs.combine.removeprefix("arg")
    store = Store(place, body, attrs.store.drop)
    best = emit_loop(graph, attrs.extents, [store], combine, attrs.shape)
    is_best = make("eq", body, element(best, place))
    if is_float(body.dtype):  # a NaN is the greatest and the least
        is_best = make("or", is_best, make("isnan", body))
    none = const(highest(attrs.dtype), attrs.dtype)
    first = Store(place, select(is_best, attrs.payload, none), attrs.store.drop)
    return emit_loop(graph, attrs.extents, [first], "min", attrs.shape)

"""Graphs of single elements: what pointwise, random and foreach kernels compute.

No value has dims, so such a Graph serves operands of every rank: the runtime promotes,
broadcasts and casts, and calls its kernel for each element. Its derivatives are those
of any Graph. ``element_bodies`` converts the Graph to one loop: an expression per
output, in which ``load(k, ())`` is the element of input k.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.ir.build import emit_map, over_values
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import Expr, load
from pellucid_compiler.ir.graph import Graph, Requirement, Value
from pellucid_compiler.ir.primitives import LOOP
from pellucid_compiler.ir.show import short_dtype, show_expr
from pellucid_compiler.ir.traversal import rewrite, substitute, symbols


def element_of(position: int, dtype: str) -> Expr:
    """The element of input ``position``."""
    return load(position, (), dtype)


def element_graph(
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[Expr],
    requirements: Sequence[Requirement] = (),
) -> Graph:
    """A loop per output, over inputs of these dtypes.

    Outputs without a derivative come first and the others read them, so that dropout's
    gradient reads its mask, not the random words.
    """
    graph = Graph(name)
    graph.requirements = list(requirements)
    values = [graph.input((), dtype) for dtype in inputs]
    made: dict[Expr, Value] = {}
    read: dict[Expr, Expr] = {}
    for e in sorted(dict.fromkeys(outputs), key=lambda e: is_float(e.dtype)):
        body = over_values(substitute(e, read) if is_float(e.dtype) else e, values)
        made[e] = emit_map(graph, (), lambda body=body: body)
        if not is_float(e.dtype):
            read[e] = element_of(len(values), e.dtype)
            values.append(made[e])
    graph.outputs = [made[e] for e in outputs]
    return graph


def element_bodies(graph: Graph) -> tuple[Expr, ...]:
    """The outputs as expressions of the inputs' elements."""
    found = {v: element_of(k, v.dtype) for k, v in enumerate(graph.inputs)}
    for node in graph.nodes:
        (value,) = node.outputs
        attrs = node.attrs
        assert node.primitive is LOOP and not value.shape, node
        assert not attrs.extents and attrs.combine == "sum", attrs
        read = [found[v] for v in node.inputs]
        terms = [_of_elements(store.body, read) for store in attrs.stores]
        if attrs.init is not None:
            terms.insert(0, read[attrs.init])
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        found[value] = total
    return tuple(found[v] for v in graph.outputs)


def _of_elements(body: Expr, read: Sequence[Expr]) -> Expr:
    return rewrite(body, lambda e, _: read[e.attr] if e.op == "load" else None)


def show_elements(graph: Graph) -> str:
    """``(x0: f32, alpha: weakfloat) -> f32 (x0[] * f32(alpha))``."""
    bodies = element_bodies(graph)
    operands = [f"x{k}: {short_dtype(v.dtype)}" for k, v in enumerate(graph.inputs)]
    numbers = dict.fromkeys(symbols(*bodies))
    operands += [f"{number.attr}: {short_dtype(number.dtype)}" for number in numbers]
    results = [f"{short_dtype(e.dtype)} {show_expr(e)}" for e in bodies]
    return f"({', '.join(operands)}) -> {'; '.join(results)}"

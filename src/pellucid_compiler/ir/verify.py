"""The invariants of every Graph, checked after tracing and after every transform."""

from __future__ import annotations

from pellucid_compiler.ir.graph import Graph, VerificationError


def verify(graph: Graph) -> Graph:
    """Check SSA order and every node's own rules; returns the Graph."""
    known = set(graph.inputs)
    if len(known) != len(graph.inputs):
        raise VerificationError(f"{graph.name}: one value is two inputs")
    for position, node in enumerate(graph.nodes):
        where = f"{graph.name}, node {position}"
        for value in node.inputs:
            if value not in known:
                raise VerificationError(
                    f"{where}: {node.primitive.name} reads {value}, which is not "
                    "defined before it"
                )
        try:
            node.primitive.verify(node)
        except VerificationError as error:
            raise VerificationError(f"{where}: {error}") from None
        inferred = node.primitive.infer(node.inputs, node.attrs)
        for value, (shape, dtype) in zip(node.outputs, inferred, strict=True):
            if value.dtype != dtype or value.rank != len(shape):
                raise VerificationError(f"{where}: {value} is declared {dtype}")
        for body in node.primitive.bodies(node.attrs):
            verify(body)
        known.update(node.outputs)
    for value in graph.outputs:
        if value not in known:
            raise VerificationError(f"{graph.name}: the output {value} is not defined")
    return graph

"""Postpones loops that only nodes after the last scan read.

A gradient's transposed weight, for example, then takes no memory while the scan runs.
The lowering runs this when nodes have their final form.
"""

from __future__ import annotations

from pellucid_compiler.ir.graph import Graph, Node
from pellucid_compiler.ir.primitives import LOOP, SCAN


def postpone_loops(graph: Graph) -> Graph:
    """``graph`` with the loops that no scan needs moved after the last scan."""
    scans = [k for k, node in enumerate(graph.nodes) if node.primitive is SCAN]
    if not scans:
        return graph
    before = graph.nodes[: scans[-1] + 1]
    late = _read_late(before, _following_from_inputs(graph, before))
    kept = [node for node in before if node not in late]
    moved = [node for node in before if node in late]
    graph.nodes = [*kept, *moved, *graph.nodes[len(before) :]]
    return graph


def _following_from_inputs(graph: Graph, nodes: list[Node]) -> set[Node]:
    """The loops that depend on no scan."""
    known, found = set(graph.inputs), set()
    for node in nodes:
        if node.primitive is LOOP and node.inputs and known.issuperset(node.inputs):
            known.update(node.outputs)
            found.add(node)
    return found


def _read_late(nodes: list[Node], movable: set[Node]) -> set[Node]:
    """The movable nodes that only movable ones among ``nodes`` read."""
    read = {v for node in nodes if node not in movable for v in node.inputs}
    late: set[Node] = set()
    for node in reversed(nodes):
        if node not in movable:
            continue
        if read.isdisjoint(node.outputs):
            late.add(node)
        else:
            read.update(node.inputs)
    return late

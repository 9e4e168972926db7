"""Subgraphs that depend on no input: observed or packed weights."""

from __future__ import annotations

from pellucid.fx import Graph, GraphModule, Node


def producers(node: Node) -> list[Node] | None:
    """The nodes from which a node is computed, in order, and itself; None if an input
    is among them.
    """
    found, waiting = {node}, [node]
    while waiting:
        for each in waiting.pop().all_input_nodes:
            if each.op == "placeholder":
                return None
            if each not in found:
                found.add(each)
                waiting.append(each)
    return sorted(found)


def constant_of(model: GraphModule, nodes: list[Node]) -> GraphModule:
    """A model without inputs that returns the value of the last of ``producers``."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in nodes:
        copies[node] = graph.node_copy(node, lambda each: copies[each])
    graph.output(copies[nodes[-1]])
    return GraphModule(model, graph)

"""``torch.fx.passes.utils.fuser_utils``: replaces groups of nodes by modules."""

from __future__ import annotations

import copy
import operator
from collections import deque
from collections.abc import Sequence

from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node

NodeList = list[Node]


def topo_sort(nodes: Sequence[Node]) -> list[Node]:
    """The nodes in topological order."""
    degree = {node: 0 for node in nodes}
    for node in nodes:
        degree[node] = sum(read in degree for read in node.all_input_nodes)
    ready = deque(node for node in nodes if degree[node] == 0)
    ordered: list[Node] = []
    while ready:
        node = ready.popleft()
        ordered.append(node)
        for user in node.users:
            if user in degree:
                degree[user] -= 1
                if degree[user] == 0:
                    ready.append(user)
    if len(ordered) != len(nodes):
        raise AssertionError(
            "topological sorted nodes doesn't have same length as input"
        )
    return ordered


def validate_partition(partition: Sequence[Node]) -> bool:
    """Whether one module can replace the nodes: no path leaves the group and
    returns.
    """
    if not partition:
        return True
    own = set(partition)
    last = max(partition)
    outside = [u for node in own for u in node.users if u not in own]
    seen: set[Node] = set()
    while outside:
        node = outside.pop()
        if node in own:
            return False
        if node in seen or node > last:
            continue
        seen.add(node)
        outside.extend(node.users)
    return True


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: Sequence[Node],
    module_name: str,
    partition_lookup_table: dict[Node, int | None] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module of these nodes, its input nodes and its output nodes."""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    own = set(nodes)
    graph = Graph()
    mapping: dict[Node, Node] = {}
    inputs: dict[Node, Node] = {}

    def remap(read: Node) -> Node:
        if read in mapping:
            return mapping[read]
        if read not in inputs:
            made = graph.placeholder(read.name, type_expr=read.type)
            made.meta = copy.copy(read.meta)
            inputs[read] = made
        return inputs[read]

    for node in nodes:
        mapping[node] = graph.node_copy(node, remap)
    outputs = {n: mapping[n] for n in nodes if any(u not in own for u in n.users)}
    values = tuple(outputs.values())
    single = len(values) == 1 and not always_return_tuple
    graph.output(values[0] if single else values)
    graph.lint()
    return GraphModule(gm, graph, module_name), tuple(inputs), tuple(outputs)


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
) -> GraphModule:
    """Inserts a call of ``sub_gm``, which replaces its nodes."""
    name = sub_gm.__class__.__name__
    gm.add_submodule(name, sub_gm)
    behind = max(orig_outputs) if orig_outputs else gm.graph.output_node().prev
    with gm.graph.inserting_after(behind):
        module_node = gm.graph.call_module(name, args=orig_inputs)
    if len(orig_outputs) == 1 and not isinstance(
        sub_gm.graph.output_node().args[0], tuple
    ):
        orig_outputs[0].replace_all_uses_with(module_node, propagate_meta=True)
        return gm
    with gm.graph.inserting_after(module_node):
        for index, old in reversed(list(enumerate(orig_outputs))):
            read = gm.graph.call_function(operator.getitem, (module_node, index))
            old.replace_all_uses_with(read, propagate_meta=True)
    module_node.meta["val"] = tuple(old.meta.get("val") for old in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: Sequence[Node]) -> None:
    """Erases the nodes, last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: list[dict[Node, int | None]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """Replaces each group of nodes by a module ``fused_0``, ``fused_1``, ..."""
    for index, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        sub_gm, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{index}", always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, sub_gm, inputs, outputs)
        erase_nodes(gm, nodes)
    legalize_graph(gm)
    return gm


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Sorts the nodes topologically."""
    from pellucid.fx.passes.tools_common import legalize_graph as legalize

    return legalize(gm)

"""``torch.fx.passes.tools_common``: small helpers that passes share."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pellucid
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node

__all__ = [
    "FxNetAccFusionsFinder",
    "NodeEvent",
    "NodeEventTracker",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

Tensors = tuple[pellucid.Tensor, ...] | list[pellucid.Tensor]
TensorOrTensors = pellucid.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: Any) -> str:
    """A function's name, ``acc_ops.name`` if a library of accelerated ops defines
    it.
    """
    if isinstance(k, str):
        return k
    module = getattr(k, "__module__", None) or ""
    if "acc_ops" in module:
        return f"acc_ops.{k.__name__}"
    module = module.replace("torch._ops", "torch.ops")
    return f"{module}.{k.__name__}"


def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """A node's target as text: the module's type, the function's name, or the
    method.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}"
        )
    if node.op == "call_module":
        submodule = submodules[str(node.target)]
        return str(
            getattr(submodule, "_base_class_origin", None) or _typename(submodule)
        )
    if node.op == "call_function":
        target: Any = node.target
        if getattr(target, "__module__", None) == "_operator":
            return f"_operator.{target.__name__}"
        return node._pretty_print_target(target).removeprefix("builtins.")
    return str(node.target)


def _typename(obj: Any) -> str:
    from pellucid.fx._names import type_repr

    return type_repr(type(obj))


def is_node_output_tensor(node: Node) -> bool:
    """Whether shape propagation found that the result is one tensor."""
    kind = node.meta.get("type", None)
    return kind is not None and issubclass(kind, pellucid.Tensor)


class FxNetAccFusionsFinder:
    """Groups of accelerated nodes that exchange values other than tensors, which cannot
    be passed between modules.
    """

    def __init__(self, module: GraphModule, acc_nodes: NodeSet) -> None:
        self.module = module
        self.nodes = list(module.graph.nodes)
        self.acc_nodes = acc_nodes

    @dataclass
    class FusionGroup:
        """Nodes that must stay together, and their inputs."""

        top_node_idx: int
        nodes: NodeSet
        inputs: NodeSet
        nodes_need_process: NodeSet = field(default_factory=set)

        def add_node(self, node: Node) -> None:
            """Adds a node and its inputs."""
            if node in self.nodes:
                return
            self.nodes_need_process.add(node)
            self.nodes.add(node)
            self.inputs.discard(node)
            self.inputs.update(
                read
                for read in node.all_input_nodes
                if read.op in CALLABLE_NODE_OPS and read not in self.nodes
            )

    def recursive_add_node(
        self,
        fusion_group: FxNetAccFusionsFinder.FusionGroup,
        inputs: NodeSet | NodeList,
        visited: NodeSet | None = None,
    ) -> bool:
        """Adds the nodes on paths from the group to itself; whether there is a path."""
        visited = set() if visited is None else visited
        for read in inputs:
            if read in visited or read.op not in CALLABLE_NODE_OPS:
                continue
            visited.add(read)
            if self.nodes.index(read) < fusion_group.top_node_idx:
                continue
            is_joined = read in fusion_group.nodes or self.recursive_add_node(
                fusion_group, read.all_input_nodes, visited
            )
            if is_joined:
                fusion_group.add_node(read)
                return True
        return False

    def __call__(self) -> dict[Node, NodeSet]:
        found: dict[Node, NodeSet] = {}
        for node in list(self.acc_nodes):
            if node in found or node.op not in CALLABLE_NODE_OPS:
                continue
            if "tensor_meta" in node.meta or node not in self.acc_nodes:
                continue
            group = self.FusionGroup(
                self.nodes.index(node), {node}, set(node.all_input_nodes), {node}
            )
            while group.nodes_need_process:
                current = group.nodes_need_process.pop()
                self._grow(group, current)
            if not group.nodes <= self.acc_nodes:
                self.acc_nodes -= group.nodes
                continue
            for member in group.nodes:
                found[member] = group.nodes
        return found

    def _grow(self, group: FxNetAccFusionsFinder.FusionGroup, node: Node) -> None:
        self.recursive_add_node(group, group.inputs)
        if "tensor_meta" not in node.meta:
            for user in node.users:
                if user.op in CALLABLE_NODE_OPS and user not in group.nodes:
                    group.add_node(user)
        for read in node.all_input_nodes:
            if read.op not in CALLABLE_NODE_OPS or "tensor_meta" in read.meta:
                continue
            if read in group.nodes:
                continue
            group.top_node_idx = min(group.top_node_idx, self.nodes.index(read))
            group.add_node(read)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Sorts the nodes topologically; ties are in the order of their inputs."""
    graph = gm.graph
    waiting = {node: len(node.all_input_nodes) for node in graph.nodes}
    ready = collections.deque(node for node, count in waiting.items() if count == 0)
    ready = collections.deque(
        sorted(ready, key=lambda n: (n.op != "placeholder", n.op != "get_attr"))
    )
    ordered = _in_order(ready, waiting)
    if len(ordered) < len(graph.nodes):
        stuck = next(n for n in waiting if n not in set(ordered))
        raise RuntimeError(
            f"Input graph has cycles, unable to add {stuck} to the order"
        )
    _arrange(graph, ordered)
    gm.recompile()
    return gm


def _in_order(ready: Any, waiting: dict[Node, int]) -> list[Node]:
    ordered = []
    outputs = []
    while ready:
        node = ready.popleft()
        if node.op == "output":
            outputs.append(node)
            continue
        ordered.append(node)
        for user in node.users:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    return ordered + outputs


def _arrange(graph: Graph, ordered: list[Node]) -> None:
    for node in ordered:
        graph._root.prepend(node)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Sorts the nodes topologically and stably."""
    import heapq

    graph = gm.graph
    place = {node: index for index, node in enumerate(graph.nodes)}
    nodes = list(place)
    waiting = {node: len(node.all_input_nodes) for node in nodes}
    ready = [place[node] for node in nodes if waiting[node] == 0]
    heapq.heapify(ready)
    ordered = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        ordered.append(node)
        for user in node.users:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, place[user])
    if len(ordered) < len(nodes):
        raise RuntimeError("Input graph has cycles")
    _arrange(graph, ordered)
    gm.recompile()
    return gm


@dataclass
class NodeEvent:
    """An observation of a pass about a node."""

    source: Node
    desc: str
    dep: Node | None = None


class NodeEventTracker:
    """The observations of passes about nodes, in order."""

    def __init__(self, tracker_mode: Any = None, dump_prefix: str = "") -> None:
        self.tracker_mode, self.dump_prefix = tracker_mode, dump_prefix
        self.events: list[NodeEvent] = []

    def add(self, node: Node, desc: str, dep: Node | None = None) -> None:
        """Records an observation."""
        self.events.append(NodeEvent(node, desc, dep))

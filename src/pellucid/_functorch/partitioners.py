"""A joint graph of forward and backward, cut in two.

The joint graph takes primals and tangents and gives the outputs, then the gradients.
``default_partition`` saves what the backward reads;
``min_cut_rematerialization_partition``
computes cheap values again where that saves fewer bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._functorch.max_flow import Network
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node, map_arg

__all__ = ["default_partition", "min_cut_rematerialization_partition"]

Pair = tuple[GraphModule, GraphModule]


class _Joint:
    """Which nodes of a joint graph are of which pass."""

    def __init__(self, module: GraphModule, num_fwd_outputs: int) -> None:
        self.module = module
        self.inputs = module.graph.find_nodes(op="placeholder")
        self.tangents = [n for n in self.inputs if "tangents" in str(n.target)]
        self.primals = [n for n in self.inputs if n not in set(self.tangents)]
        results = list(module.graph.output_node().args[0])
        self.outputs = results[:num_fwd_outputs]
        self.gradients = results[num_fwd_outputs:]
        late = _descendants(self.tangents)
        must_run = [n for n in module.graph.nodes if n.is_impure() and n not in late]
        must_run += [n for n in self.outputs if isinstance(n, Node)]
        needed = _ancestors(n for n in must_run if n.op != "output")
        wanted = _ancestors(n for n in self.gradients if isinstance(n, Node))
        self.forward = [
            node
            for node in module.graph.nodes
            if node.op not in ("placeholder", "output")
            and node not in late
            and node in needed
        ]
        own = {*self.forward, *self.inputs}
        self.backward = [
            node
            for node in module.graph.nodes
            if node.op not in ("placeholder", "output")
            and node not in own
            and (node in wanted or (node in late and node.is_impure()))
        ]

    def read_by_backward(self) -> list[Node]:
        """Values of the forward that the backward reads, in order."""
        late = {*self.backward, *self.tangents}
        read = {r for node in self.backward for r in node.all_input_nodes}
        read |= {n for n in self.gradients if isinstance(n, Node)}
        return [n for n in self.module.graph.nodes if n in read and n not in late]


def _descendants(nodes: Iterable[Node]) -> set[Node]:
    found, waiting = set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(node.users)
    return found


def _ancestors(nodes: Iterable[Node]) -> set[Node]:
    found, waiting = set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(node.all_input_nodes)
    return found


def default_partition(
    joint_module: GraphModule,
    _joint_inputs: Any = None,
    *,
    num_fwd_outputs: int,
    **settings: Any,
) -> Pair:
    """Forward and backward, where everything that the backward reads is saved.

    The forward gives its outputs and then the saved values; the backward takes the
    saved values and then the tangents.
    """
    joint = _Joint(joint_module, num_fwd_outputs)
    saved = [n for n in joint.read_by_backward() if n.op != "get_attr"]
    return _cut(joint, saved, joint.backward)


def min_cut_rematerialization_partition(
    joint_module: GraphModule,
    _joint_inputs: Any = None,
    compiler: str = "inductor",
    *,
    num_fwd_outputs: int,
    **settings: Any,
) -> Pair:
    """Forward and backward that save the fewest bytes: views, casts and pointwise ops
    are computed again in the backward where that is less than saving their results.
    Products, random ops and ops that write never are.
    """
    joint = _Joint(joint_module, num_fwd_outputs)
    wanted = [n for n in joint.read_by_backward() if n.op != "get_attr"]
    network = Network()
    for node in (*joint.primals, *joint.forward):
        if node.op == "get_attr":
            continue
        network.add(("in", node), ("out", node), _bytes(node))
        if node.op == "placeholder" or not _is_cheap(node):
            network.add("source", ("in", node), None)
        for user in node.users:
            if user in set(joint.forward):
                network.add(("out", node), ("in", user), None)
    for node in wanted:
        network.add(("out", node), "sink", None)
    reachable = network.min_cut("source", "sink")
    saved = [
        node
        for node in (*joint.primals, *joint.forward)
        if ("in", node) in reachable and ("out", node) not in reachable
    ]
    own = set(saved)
    again = _again(wanted, own)
    order = [n for n in joint.module.graph.nodes if n in again or n in joint.backward]
    return _cut(joint, saved, order)


def _again(wanted: Iterable[Node], saved: set[Node]) -> set[Node]:
    """What the backward computes from saved values."""
    found, waiting = set(), [n for n in wanted if n not in saved]
    while waiting:
        node = waiting.pop()
        if node not in found and node.op != "get_attr":
            found.add(node)
            waiting.extend(r for r in node.all_input_nodes if r not in saved)
    return found


def _is_cheap(node: Node) -> bool:
    target: Any = node.target
    if node.is_impure() or not hasattr(target, "tags"):
        return getattr(target, "__name__", "") == "getitem" and _is_cheap(node.args[0])
    return bool(target.is_view) or pellucid.Tag.pointwise in target.tags


def _bytes(node: Node) -> int | None:
    """Of its result; None where it cannot be saved."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor):
        return None
    return int(Tensor.numel(value)) * value.dtype.itemsize + 1


def _cut(joint: _Joint, saved: list[Node], backward: list[Node]) -> Pair:
    outputs = [*joint.outputs, *saved]
    first = _extract(joint, joint.primals, joint.forward, outputs)
    own_inputs = [*saved, *joint.tangents]
    second = _extract(joint, own_inputs, backward, joint.gradients)
    return first, second


def _extract(
    joint: _Joint, inputs: list[Node], body: list[Node], outputs: list[Any]
) -> GraphModule:
    graph, copies = Graph(), {}
    for node in inputs:
        copies[node] = made = graph.placeholder(node.name)
        made.meta = dict(node.meta)

    def copy_of(node: Node) -> Node:
        if node not in copies and node.op == "get_attr":
            copies[node] = graph.node_copy(node)
        return copies[node]

    for node in body:
        if node not in copies:
            copies[node] = graph.node_copy(node, copy_of)
    graph.output(tuple(map_arg(list(outputs), copy_of)))
    graph.lint()
    return GraphModule(joint.module, graph)


Partition = Callable[..., Pair]

"""``torch.fx.passes.split_module``: splits a module into submodules by a callback."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule, _assign_attr, _get_attr
from pellucid.fx.node import Node, map_arg
from pellucid.nn import Module

__all__ = ["Partition", "split_module"]


@dataclass
class Partition:
    """The nodes, inputs and outputs of one submodule."""

    name: str
    submod_name: str
    node_names: list[str] = field(default_factory=list)
    inputs: dict[str, None] = field(default_factory=dict)
    outputs: dict[str, None] = field(default_factory=dict)
    dependencies: dict[str, None] = field(default_factory=dict)
    dependents: dict[str, None] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    environment: dict[Node, Node] = field(default_factory=dict)
    targets: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n"
            f" outputs: {self.outputs},\n partitions depended on: "
            f"{self.dependencies},\n"
            f" partition dependents: {self.dependents}"
        )


class _Split:
    def __init__(
        self, m: GraphModule, callback: Callable[[Node], int], affix: str | None
    ) -> None:
        self.module, self.affix = m, affix
        self.partitions: dict[str, Partition] = {}
        self.of_node: dict[Node, str] = {}
        for node in m.graph.nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                self._put(node, str(callback(node)))

    def _put(self, node: Node, name: str) -> None:
        if name not in self.partitions:
            label = (
                f"submod_{name}"
                if self.affix is None
                else f"submod_{self.affix}_{name}"
            )
            self.partitions[name] = Partition(name, label)
        self.partitions[name].node_names.append(node.name)
        self.of_node[node] = name

    def note_uses(self) -> None:
        """Fills inputs, outputs and dependencies."""
        for node in self.module.graph.nodes:
            user = self.of_node.get(node)
            for read in node.all_input_nodes:
                self._note_use(read, user)

    def _note_use(self, read: Node, user: str | None) -> None:
        maker = self.of_node.get(read)
        if maker == user:
            return
        if maker is not None:
            self.partitions[maker].outputs[read.name] = None
            if user is not None:
                self.partitions[maker].dependents[user] = None
        if user is not None:
            self.partitions[user].inputs[read.name] = None
            if maker is not None:
                self.partitions[user].dependencies[maker] = None

    def in_order(self) -> list[str]:
        """The partitions in topological order; among ready ones, the one that became
        ready last is next, as in PyTorch.
        """
        waiting = {name: len(p.dependencies) for name, p in self.partitions.items()}
        ready = [name for name, count in waiting.items() if count == 0]
        ordered: list[str] = []
        while ready:
            name = ready.pop()
            ordered.append(name)
            for user in self.partitions[name].dependents:
                waiting[user] -= 1
                if waiting[user] == 0:
                    ready.append(user)
        if len(ordered) != len(self.partitions):
            raise RuntimeError("cycle exists between partitions!")
        return ordered

    def fill(self, is_input_named: bool, is_node_named: bool) -> None:
        """Copy the nodes into the graphs of their partitions."""
        nodes = {node.name: node for node in self.module.graph.nodes}
        for partition in self.partitions.values():
            for index, name in enumerate(list(partition.inputs)):
                label = name if is_input_named else f"arg_{index}"
                self._enter(nodes[name], label, partition)
        for node in nodes.values():
            if node in self.of_node:
                partition = self.partitions[self.of_node[node]]
                self._copy(node, partition, is_node_named)

    def _enter(self, read: Node, name: str, partition: Partition) -> None:
        """A module that is read as a value is moved to its partition; other values are
        passed as arguments.
        """
        if read.op == "get_attr" and isinstance(
            value := _get_attr(self.module, str(read.target)), Module
        ):
            del partition.inputs[read.name]
            partition.targets[str(read.target)] = value
            made = partition.graph.get_attr(str(read.target))
        else:
            made = partition.graph.placeholder(name, type_expr=read.type)
        made.meta = read.meta.copy()
        partition.environment[read] = made

    def _copy(self, node: Node, partition: Partition, is_node_named: bool) -> None:
        environment = partition.environment
        args = map_arg(node.args, environment.__getitem__)
        kwargs = map_arg(node.kwargs, environment.__getitem__)
        target = node.target
        if node.op == "call_module":
            target = self._local(str(target), partition)
        made = partition.graph.create_node(
            node.op,
            target,
            args,
            kwargs,
            type_expr=node.type,
            name=node.name if is_node_named else None,
        )
        made.meta = node.meta.copy()
        environment[node] = made

    def _local(self, target: str, partition: Partition) -> str:
        local = target.replace(".", "_")
        partition.targets[local] = _get_attr(self.module, target)
        return local


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A GraphModule that calls ``submod_<n>`` for each number ``n`` that
    ``split_callback`` returns for nodes. Parameters are passed as arguments.

    ``tuple_return``: a submodule with one result returns a tuple too. Raises
    RuntimeError for a cycle between partitions.
    """
    split = _Split(m, split_callback, partition_affix)
    split.note_uses()
    order = split.in_order()
    if keep_original_order:
        order = list(split.partitions)
    split.fill(keep_original_input_name, bool(keep_original_node_name))
    base_graph, base_env = Graph(), {}
    attributes: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else ...
            made = base_graph.placeholder(str(node.target), node.type, default)
        elif node.op == "get_attr":
            made = base_graph.get_attr(str(node.target))
            attributes[str(node.target)] = _get_attr(m, str(node.target))
        else:
            continue
        made.meta = node.meta.copy()
        base_env[node.name] = made
    for name in order:
        partition = split.partitions[name]
        _finish(partition, m, qualname_map, tuple_return)
        attributes[partition.submod_name] = GraphModule(
            _holder(partition.targets), partition.graph
        )
        _call(partition, base_graph, base_env, tuple_return)
    output = m.graph.output_node()
    made = base_graph.output(
        map_arg(output.args[0], lambda n: base_env[n.name]), output.type
    )
    made.meta = output.meta.copy()
    base = Module()
    for name, value in attributes.items():
        _assign_attr(value, base, name)
    return GraphModule(base, base_graph)


def _holder(targets: dict[str, Any]) -> Module:
    holder = Module()
    for name, value in targets.items():
        _assign_attr(value, holder, name)
    return holder


def _finish(
    partition: Partition,
    m: GraphModule,
    qualname_map: dict[str, str] | None,
    as_tuple: bool,
) -> None:
    nodes = {node.name: made for node, made in partition.environment.items()}
    outputs = tuple(nodes[name] for name in partition.outputs)
    is_one = len(outputs) == 1 and not as_tuple
    partition.graph.output(outputs[0] if is_one else outputs)
    if qualname_map is None:
        return
    for local, value in partition.targets.items():
        for name, module in m.named_modules():
            if module is value:
                qualname_map[f"{partition.submod_name}.{local}"] = name


def _call(
    partition: Partition, graph: Graph, env: dict[str, Node], as_tuple: bool
) -> None:
    args = tuple(env[name] for name in partition.inputs)
    call = graph.call_module(partition.submod_name, args)
    if len(partition.outputs) == 1 and not as_tuple:
        env[next(iter(partition.outputs))] = call
        return
    for index, name in enumerate(partition.outputs):
        env[name] = graph.call_function(operator.getitem, (call, index))

"""``torch.fx.passes.split_utils``: splits a module into submodules by tags of nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule, _assign_attr, _get_attr
from pellucid.fx.node import Node, map_arg
from pellucid.fx.passes.utils.common import lift_subgraph_as_module
from pellucid.nn import Module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


@dataclass
class Component:
    """The graph of one tag."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def getattr_recursive(obj: Any, name: str) -> Any:
    """A value by its dotted name."""
    return _get_attr(obj, name)


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set a value by its dotted name."""
    *path, name = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, name, value)


class _Splitter:
    def __init__(self, gm: GraphModule, tags: list[str]) -> None:
        self.gm = gm
        self.components = [Component(Graph(), i, tag) for i, tag in enumerate(tags)]
        self.by_tag = {c.name: c for c in self.components}
        self.component_of: dict[Node, Component] = {}
        self.new_of: dict[Node, Node] = {}
        self.main = Graph()
        self.main_of: dict[Node, Node] = {}

    def place(self, node: Node) -> None:
        """Copy a node to the graph of its tag."""
        tag = getattr(node, "tag", None)
        if tag is None:
            raise AssertionError(f"Node {node} has no tag")
        component = self.by_tag[tag]
        latest = [
            self.component_of[n].order
            for n in node.all_input_nodes
            if n in self.component_of
        ]
        if max(latest, default=0) > component.order:
            raise AssertionError(
                f"node {node} of {tag} reads a result of a later component"
            )
        self.component_of[node] = component

        def value(read: Node) -> Node:
            return self._local(read, component)

        made = component.graph.node_copy(node, value)
        self.new_of[node] = made

    def _local(self, read: Node, component: Component) -> Node:
        if read.op == "get_attr":
            if read not in component.getattr_maps:
                component.getattr_maps[read] = component.graph.get_attr(
                    str(read.target), type_expr=read.type
                )
            return component.getattr_maps[read]
        if self.component_of.get(read) is component:
            return self.new_of[read]
        if read not in component.orig_inputs:
            made = component.graph.placeholder(read.name, type_expr=read.type)
            made.meta = dict(read.meta)
            component.input_placeholders.append(made)
            component.orig_inputs.append(read)
        return component.input_placeholders[component.orig_inputs.index(read)]

    def note_outputs(self) -> None:
        """Determines each component's outputs, for other components and the result."""
        for component in self.components:
            for read in component.orig_inputs:
                self._note_output(read)
        for read in self.gm.graph.output_node().all_input_nodes:
            self._note_output(read)

    def _note_output(self, read: Node) -> None:
        component = self.component_of.get(read)
        if component is not None and read not in component.orig_outputs:
            component.orig_outputs.append(read)


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> Any:
    """A module with one submodule for each of ``tags``, in this order; every node that
    computes has an attribute ``tag``.
    """
    split = _Splitter(gm, tags)
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            made = split.main.placeholder(str(node.target), type_expr=node.type)
            made.meta = dict(node.meta)
            split.main_of[node] = made
        elif node.op not in ("get_attr", "output"):
            split.place(node)
    split.note_outputs()
    main_root, names = Module(), {}
    for component in split.components:
        names.update(_finish(split, component, main_root, return_tuple))
    _finish_main(split, main_root)
    made_gm = GraphModuleCls(main_root, split.main)
    return (made_gm, names) if return_fqn_mapping else made_gm


def _finish(
    split: _Splitter, component: Component, root: Module, return_tuple: bool
) -> dict[str, str]:
    outputs = tuple(split.new_of[node] for node in component.orig_outputs)
    is_single = len(outputs) == 1 and not return_tuple
    component.graph.output(outputs[0] if is_single else outputs)
    component.gm, names = lift_subgraph_as_module(
        split.gm, component.graph, comp_name=component.name
    )
    root.add_module(component.name, component.gm)
    args = tuple(_main_value(split, read, root) for read in component.orig_inputs)
    call = split.main.call_module(component.name, args)
    if is_single:
        split.main_of[component.orig_outputs[0]] = call
        return names
    import operator

    for index, node in enumerate(component.orig_outputs):
        split.main_of[node] = split.main.call_function(operator.getitem, (call, index))
    return names


def _main_value(split: _Splitter, read: Node, root: Module) -> Node:
    if read not in split.main_of and read.op == "get_attr":
        split.main_of[read] = split.main.get_attr(str(read.target))
        _assign_attr(_get_attr(split.gm, str(read.target)), root, str(read.target))
    return split.main_of[read]


def _finish_main(split: _Splitter, root: Module) -> None:
    output = split.gm.graph.output_node()
    value = map_arg(output.args[0], lambda n: _main_value(split, n, root))
    split.main.output(value, output.type)

"""Fuses consecutive layers of a graph."""

from __future__ import annotations

from typing import Any

from pellucid import nn
from pellucid.ao.quantization.backend_config import BackendConfig
from pellucid.ao.quantization.fx.matching import (
    MatchAllNode,
    Modules,
    PatternTable,
    find,
    leaves,
    module_names,
)
from pellucid.fx import Graph, GraphModule, Node
from pellucid.fx.node import map_arg
from pellucid.nn import functional as F

__all__ = ["fuse"]


def fuse(model: GraphModule, is_qat: bool, backend: BackendConfig) -> GraphModule:
    """The model with the fusions of a backend's table; batch norms are folded unless
    ``is_qat``.
    """
    modules = module_names(model)
    found = find(model.graph, modules, PatternTable(backend, only_fusions=True))
    fused = Graph()
    copies: dict[Node, Node] = {}
    for node in model.graph.nodes:
        match = found.get(node)
        if match is None or _is_operand(node, match.nodes, match.pattern):
            copies[node] = fused.node_copy(node, lambda each: copies[each])
        elif match.last is node:
            copies[node] = _fused_node(match, modules, fused, copies, is_qat)
    return GraphModule(model, fused)


def _is_operand(node: Node, nodes: Any, pattern: Any) -> bool:
    """Whether a node of a match corresponds to a wildcard of the pattern."""
    found = zip(leaves(nodes), leaves(pattern), strict=True)
    return any(each is node and part is MatchAllNode for each, part in found)


def _fused_node(
    match: Any, modules: Modules, graph: Graph, copies: dict[Node, Node], is_qat: bool
) -> Node:
    root = match.root
    if root.op != "call_module":
        raise AssertionError(f"a fusion begins with a module; {root} does not call one")
    layers = _layers(match.nodes, match.pattern, modules, modules[root.target].training)
    parent, _, name = root.target.rpartition(".")
    setattr(modules[parent], name, match.config.fused(is_qat, layers))
    made = graph.node_copy(root, lambda each: copies[each])
    getter = match.config._extra_inputs_getter
    more = getter(match.nodes) if getter else []
    made.args = (*made.args, *map_arg(tuple(more), lambda each: copies[each]))
    return made


def _layers(nodes: Any, pattern: Any, modules: Modules, training: bool) -> Any:
    """The modules of nested nodes; ``relu`` as a layer."""
    if isinstance(nodes, tuple):
        pairs = zip(nodes, pattern, strict=True)
        return tuple(_layers(*pair, modules, training) for pair in pairs)
    if pattern is MatchAllNode:
        return MatchAllNode
    if nodes.op == "call_module":
        return modules[nodes.target]
    return nn.ReLU().train(training) if nodes.target is F.relu else nodes.target

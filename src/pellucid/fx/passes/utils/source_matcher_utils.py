"""``torch.fx.passes.utils.source_matcher_utils``: nodes by the module or function that
made them.

Exported graphs of ops keep in ``meta["nn_module_stack"]`` and ``meta["torch_fn"]``
which layer, or which public function, was called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.fx.graph import Graph
from pellucid.fx.node import Node

__all__ = [
    "SourcePartition",
    "check_subgraphs_connected",
    "get_source_partitions",
]


@dataclass
class SourcePartition:
    """The nodes of one call of ``source``, what they read and what is read of them."""

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(
    graph: Graph,
    wanted_sources: list[Any],
    filter_fn: Callable[[Node], bool] | None = None,
) -> dict[Any, list[SourcePartition]]:
    """The calls of each source, a layer's class or a function, in the graph.

    ``filter_fn`` keeps calls whose output nodes all pass. Example::

        parts = get_source_partitions(program.graph, [nn.Linear, torch.relu])
        for part in parts[nn.Linear]:
            print(part.input_nodes, part.output_nodes)
    """
    wanted = {_name(source): source for source in wanted_sources}
    calls: dict[Any, dict[Any, list[Node]]] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        for name, call in _sources(node):
            if name in wanted:
                calls.setdefault(wanted[name], {}).setdefault(call, []).append(node)
    found = {
        source: [_partition(nodes, source) for nodes in groups.values()]
        for source, groups in calls.items()
    }
    if filter_fn is None:
        return found
    kept = {
        source: [p for p in parts if all(map(filter_fn, p.output_nodes))]
        for source, parts in found.items()
    }
    return {source: parts for source, parts in kept.items() if parts}


def check_subgraphs_connected(
    subgraph1: SourcePartition, subgraph2: SourcePartition
) -> bool:
    """Whether the second reads a node of the first."""
    second = set(subgraph2.nodes)
    return any(user in second for node in subgraph1.nodes for user in node.users)


def _name(source: Any) -> str:
    if isinstance(source, str):
        return source
    return f"{source.__module__}.{source.__qualname__}"


def _sources(node: Node) -> list[tuple[str, Any]]:
    """What made the node, by name, and which call of it: the innermost layer, and the
    function.
    """
    found: list[tuple[str, Any]] = []
    stack = node.meta.get("nn_module_stack") or {}
    if stack:
        key = list(stack)[-1]
        layer = stack[key][1]
        found.append((layer if isinstance(layer, str) else _name(layer), key))
    called = node.meta.get("torch_fn")
    if called is not None:
        found.append((called[1], called[0]))
    if node.op == "call_function" and not hasattr(node.target, "_schema"):
        found.append((_name(node.target), node))
    return found


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    read = {n: None for node in nodes for n in node.all_input_nodes if n not in inside}
    return SourcePartition(
        nodes,
        source,
        [n for n in read if n.op != "get_attr"],
        [n for n in nodes if any(user not in inside for user in n.users)],
        [n for n in read if n.op == "get_attr"],
    )

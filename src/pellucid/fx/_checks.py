"""The checks of ``Graph.lint``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pellucid

if TYPE_CHECKING:
    from pellucid.fx.graph import Graph
    from pellucid.fx.node import Node


def lint(graph: Graph) -> None:
    """Raises if a node reads a value that does not precede it, shares a name, or has a
    target that the owning module lacks.
    """
    seen: set[Node] = set()
    names: set[str] = set()
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        _check_inputs(node, seen)
        seen.add(node)
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        names.add(node.name)
        if node.op in ("get_attr", "call_module") and graph.owning_module is not None:
            _check_target(node, graph.owning_module)
        elif node.op != "call_function" and not isinstance(node.target, str):
            raise RuntimeError(
                f"Node '{node}' of {node.op} has the target {node.target!r}; a "
                f"name "
                "was expected"
            )


def _check_inputs(node: Node, seen: set[Node]) -> None:
    for read in node._input_nodes:
        if read.graph is not node.graph:
            raise RuntimeError(
                f"Argument '{read}' of Node '{node}' does not belong to this Graph, "
                f"but "
                "was used as an argument! If you are copying nodes from another graph, "
                "make sure to use ``arg_transform`` on node_copy() to remap values\n"
                f"{node.graph}"
            )
        if read not in seen:
            raise RuntimeError(
                f"Argument '{read}' of Node '{node}' was used before it has been "
                f"defined! Please check that Nodes in the graph are topologically "
                f"ordered\n{node.graph}"
            )


def _check_target(node: Node, root: Any) -> None:
    parent = root
    parts = str(node.target).split(".")
    for index, part in enumerate(parts):
        name = ".".join(parts[:index])
        if not hasattr(parent, part):
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute "
                f"{part} of {name}"
            )
        parent = getattr(parent, part)
        is_last = index == len(parts) - 1
        is_called = node.op == "call_module" and is_last
        if is_called and not isinstance(parent, pellucid.nn.Module):
            raise RuntimeError(
                f"Node {node} target {node.target} {part} of {name} does not "
                "reference an nn.Module"
            )

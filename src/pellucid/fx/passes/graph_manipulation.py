"""``torch.fx.passes.graph_manipulation``: sizes of nodes, and replacing them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pellucid
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
]


class size_bytes(NamedTuple):
    """The bytes of a node's result, and with what it owns: parameters and buffers."""

    output_size: int
    total_size: int


def replace_target_nodes_with(
    fx_module: GraphModule,
    old_op: str,
    old_target: Any,
    new_op: str,
    new_target: Any,
) -> None:
    """Replaces the op and target of all nodes that have the old ones; the arguments
    stay.
    """
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            node.op, node.target = new_op, new_target
    fx_module.recompile()


def get_tensor_meta(node: Node) -> Any:
    """The node's ``tensor_meta``; RuntimeError where no ``ShapeProp`` ran."""
    if "tensor_meta" not in node.meta:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape "
            "propagation has run."
        )
    return node.meta["tensor_meta"]


def get_size_of_all_nodes(
    fx_module: GraphModule, args: list[Any] | None = None
) -> None:
    """Sets ``size_bytes`` of every node; ``args`` run through the module first."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        measured: Any = node
        measured.size_bytes = get_size_of_node(fx_module, node)


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The sizes of one node."""
    total = 0
    if node.op == "call_module":
        layer = fx_module.get_submodule(str(node.target))
        own = [*dict(layer.named_parameters()).values(), *layer.buffers()]
        total += sum(value.nbytes for value in own)
    if node.op == "get_attr":
        value: Any = fx_module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        total += value.nbytes if isinstance(value, pellucid.Tensor) else 0
    output = _bytes(get_tensor_meta(node))
    return size_bytes(output, total + output)


def _bytes(meta: Any) -> int:
    if isinstance(meta, TensorMetadata):
        return int(meta.shape.numel()) * meta.dtype.itemsize
    return sum(_bytes(part) for part in meta) if isinstance(meta, tuple | list) else 0

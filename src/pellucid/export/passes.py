"""``torch.export.passes``: changes of whole exported programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.export.exported_program import ExportedProgram
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import map_aggregate
from pellucid.utils import _pytree as pytree

__all__ = ["move_to_device_pass"]

Location = pellucid.device | str | Mapping[str, str]


def move_to_device_pass(ep: ExportedProgram, location: Location) -> ExportedProgram:
    """The program with its tensors, and the devices in its graph, on another device.

    ``location`` is a device, or a mapping from devices in use to new ones. Returns a
    new program; ``ep`` is unchanged. Example::

        program = move_to_device_pass(export(model, (x,)), "cpu")
    """

    def target(device: Any) -> pellucid.device:
        if isinstance(location, Mapping):
            return pellucid.device(location.get(str(device), device))
        return pellucid.device(location)

    def moved(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        new = value.detach().to(target(value.device))
        if isinstance(value, pellucid.nn.Parameter):
            return pellucid.nn.Parameter(new, requires_grad=value.requires_grad)
        return new

    return replace(
        ep,
        graph_module=_moved_module(ep.graph_module, target, moved),
        state_dict={name: moved(value) for name, value in ep.state_dict.items()},
        constants={name: moved(value) for name, value in ep.constants.items()},
        example_inputs=pytree.tree_map(moved, ep.example_inputs),
    )


def _moved_module(module: GraphModule, target: Any, moved: Any) -> GraphModule:
    """A copy of the module, and of the graphs in it, with other devices."""
    graph = Graph()
    output = graph.output(graph.graph_copy(module.graph, {}))
    output.meta = dict(module.graph.output_node().meta)
    for node in graph.nodes:
        node.args = map_aggregate(node.args, lambda a: _device(a, target))
        node.kwargs = map_aggregate(node.kwargs, lambda a: _device(a, target))
        if "val" in node.meta:
            node.meta["val"] = pytree.tree_map(moved, node.meta["val"])
    graph.set_codegen(module.graph._codegen)
    parts = {
        name: _moved_module(part, target, moved)
        for name, part in module.named_children()
        if isinstance(part, GraphModule)
    }
    return GraphModule(parts, graph, type(module).__name__)


def _device(argument: Any, target: Any) -> Any:
    return target(argument) if isinstance(argument, pellucid.device) else argument

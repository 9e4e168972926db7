"""``torch.export.passes``: changes of whole exported programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.export.exported_program import ExportedProgram
from pellucid.fx.node import Node, map_aggregate
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

    module = pellucid.fx.GraphModule(ep.graph_module, ep.graph_module.graph)
    copied: dict[Node, Node] = {}
    graph = pellucid.fx.Graph()
    result = graph.graph_copy(ep.graph, copied)
    node = graph.output(result)
    node.meta = dict(ep.graph.output_node().meta)
    for new in graph.nodes:
        new.kwargs = map_aggregate(new.kwargs, lambda a: _device(a, target))
        new.args = map_aggregate(new.args, lambda a: _device(a, target))
        if "val" in new.meta:
            new.meta["val"] = pytree.tree_map(moved, new.meta["val"])
    graph.set_codegen(ep.graph._codegen)
    module.graph = graph
    module.recompile()
    return replace(
        ep,
        graph_module=module,
        state_dict={name: moved(value) for name, value in ep.state_dict.items()},
        constants={name: moved(value) for name, value in ep.constants.items()},
        example_inputs=pytree.tree_map(moved, ep.example_inputs),
    )


def _device(argument: Any, target: Any) -> Any:
    return target(argument) if isinstance(argument, pellucid.device) else argument

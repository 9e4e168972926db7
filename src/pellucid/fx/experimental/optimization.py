"""Module transforms for inference: fused batch norms, no dropout, subgraphs."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from pellucid import nn
from pellucid.fx._symbolic_trace import Tracer, symbolic_trace
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.interpreter import Transformer
from pellucid.fx.node import Argument, Node, Target
from pellucid.nn import Module
from pellucid.nn.utils.fusion import fuse_conv_bn_eval

__all__ = [
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "remove_dropout",
    "replace_node_module",
]

_PAIRS = (
    (nn.Conv1d, nn.BatchNorm1d),
    (nn.Conv2d, nn.BatchNorm2d),
    (nn.Conv3d, nn.BatchNorm3d),
)


def _parent_name(target: str) -> tuple[str, str]:
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(
    pattern: Iterable[type], node: Node, modules: dict[str, Module]
) -> bool:
    """Whether the first argument of ``node``, and ``node``, call modules of exactly
    these types.
    """
    if not node.args or not isinstance(node.args[0], Node):
        return False
    for expected, current in zip(pattern, (node.args[0], node), strict=False):
        if current.op != "call_module":
            return False
        if type(modules.get(str(current.target))) is not expected:
            return False
    return True


def replace_node_module(
    node: Node, modules: dict[str, Module], new_module: Module
) -> None:
    """Replaces ``node``'s target by ``new_module``, in its parent and in
    ``modules``.
    """
    parent, name = _parent_name(str(node.target))
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> Module:
    """The model in evaluation mode with every batch norm after a convolution folded
    into its weights, if nothing else reads the convolution.

    ``no_trace``: the model is a GraphModule, whose graph is used unchanged.
    """
    model = model if inplace else copy.deepcopy(model)
    if no_trace and not isinstance(model, GraphModule):
        raise AssertionError("fuse: no_trace=True needs a GraphModule")
    fx_model = model if isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(fx_model.named_modules())
    graph = copy.deepcopy(fx_model.graph)
    for pair in _PAIRS:
        for node in graph.nodes:
            if not matches_module_pattern(pair, node, modules):
                continue
            conv_node = node.args[0]
            conv, norm = modules[str(conv_node.target)], modules[str(node.target)]
            if len(conv_node.users) > 1 or not norm.track_running_stats:
                continue
            fused: Any = fuse_conv_bn_eval(conv.eval(), norm.eval())
            replace_node_module(conv_node, modules, fused)
            node.replace_all_uses_with(conv_node)
            graph.erase_node(node)
    return GraphModule(fx_model, graph)


def remove_dropout(model: Module) -> Module:
    """The traced model without its Dropout modules."""

    class WithoutDropout(Transformer):
        def call_module(
            self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
        ) -> Any:
            if isinstance(self.submodules[str(target)], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return WithoutDropout(symbolic_trace(model)).transform()


def extract_subgraph(
    orig_module: Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]
) -> GraphModule:
    """``nodes``, in order, as a module from ``inputs`` to ``outputs``."""
    graph = Graph()
    env: dict[Node, Node] = {}
    for node in inputs:
        env[node] = graph.placeholder(node.name)
    for node in nodes:
        env[node] = graph.node_copy(node, lambda n: env[n])
    graph.output([env[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


def optimize_for_inference(
    model: Module,
    pass_config: dict[str, Any] | None = None,
    tracer: type[Tracer] = Tracer,
) -> Module:
    """The traced model with fused batch norms and without dropout.

    ``pass_config`` disables them: ``{"conv_bn_fuse": False}``,
    ``{"remove_dropout": False}``. PyTorch's third pass, MKL layouts, does not exist
    here.
    """
    settings = {"conv_bn_fuse": True, "remove_dropout": True, **(pass_config or {})}
    found: Module = copy.deepcopy(model)
    if settings["conv_bn_fuse"]:
        found = fuse(found)
    if settings["remove_dropout"]:
        found = remove_dropout(found)
    root = tracer()
    graph = root.trace(found)
    return GraphModule(root.root, graph)

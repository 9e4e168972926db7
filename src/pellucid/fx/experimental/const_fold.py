"""Constant folding: nodes that depend on no input are computed once, at first use.

``split_const_subgraphs`` returns a module in which parameters replace the constant
nodes. Read next: ``passes/split_module.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.fx._symbolic_trace import symbolic_trace
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.nn import Module, Parameter

__all__ = ["FoldedGraphModule", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A GraphModule that first computes its constants: ``run_folding``.

    ``const_subgraph_module`` computes them, or is None; the attributes
    ``fx_const_folded_attrs_names`` hold them.
    """

    def __init__(
        self,
        root: Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_names: tuple[str, ...] = (),
        device_for_folded_attrs: str = "cpu",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = (
            None if const_subgraph is None else GraphModule(root, const_subgraph)
        )
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_names = fx_const_folded_attrs_names
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Computes the constants, once."""
        if self.has_folding_been_run or self.const_subgraph_module is None:
            self.has_folding_been_run = True
            return
        values = self.const_subgraph_module()
        for name, value in zip(self.fx_const_folded_attrs_names, values, strict=True):
            folded = value.to(self.device_for_folded_attrs)
            keeps = isinstance(value, Parameter) or value.requires_grad
            setattr(self, name, Parameter(folded.detach(), requires_grad=keeps))
        self.has_folding_been_run = True


def split_const_subgraphs(
    module: Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """``module`` with the nodes that depend on no input in a submodule of their own.

    A node for which ``skip_folding_node_fn`` is true is not folded, nor are nodes that
    depend on it, random ops and in-place writes.

    Example::

        folded = split_const_subgraphs(module)
        folded(x)  # computes the constants, then the rest
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced, skip_folding_node_fn)
    given = [n for n in traced.graph.nodes if n in constant and _is_given(n, constant)]
    if not given:
        return FoldedGraphModule(traced, _copied(traced.graph))
    names = tuple(_fresh_names(traced, len(given)))
    const_graph = Graph()
    env: dict[Node, Node] = {}
    for node in traced.graph.nodes:
        if node in constant:
            env[node] = const_graph.node_copy(node, lambda n: env[n])
    const_graph.output(tuple(env[n] for n in given))
    for name in names:
        setattr(traced, name, Parameter(pellucid.empty(0), requires_grad=False))
    rest, env = Graph(), {}
    by_node = dict(zip(given, names, strict=True))
    for node in traced.graph.nodes:
        if node in by_node:
            env[node] = rest.get_attr(by_node[node])
        elif node.op == "output":
            rest.output(pellucid.fx.node.map_arg(node.args[0], lambda n: env[n]))
        elif node not in constant or _is_read(node, constant):
            env[node] = rest.node_copy(node, lambda n: env[n])
    return FoldedGraphModule(traced, rest, const_graph, names, device_for_folded_attrs)


def _constant_nodes(
    traced: GraphModule, skip: Callable[[Node], bool] | None
) -> set[Node]:
    found: set[Node] = set()
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output") or (skip is not None and skip(node)):
            continue
        if node.op == "get_attr" and not isinstance(_attribute(traced, node), Tensor):
            continue
        if node.is_impure():
            continue
        if set(node.all_input_nodes) <= found and (
            node.op == "get_attr" or node.all_input_nodes
        ):
            found.add(node)
    return found


def _is_given(node: Node, constant: set[Node]) -> bool:
    """Whether the rest reads the result of this submodule."""
    return node.op != "get_attr" and _is_read(node, constant)


def _is_read(node: Node, constant: set[Node]) -> bool:
    return any(user not in constant for user in node.users)


def _attribute(module: Module, node: Node) -> Any:
    value: Any = module
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value


def _fresh_names(module: Module, count: int) -> list[str]:
    names: list[str] = []
    number = 0
    while len(names) < count:
        name = f"_FX_CONST_FOLDED_ATTRS_{number}"
        number += 1
        if not hasattr(module, name):
            names.append(name)
    return names


def _copied(graph: Graph) -> Graph:
    copy = Graph()
    copy.output(copy.graph_copy(graph, {}))
    return copy

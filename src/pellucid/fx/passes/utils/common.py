"""``torch.fx.passes.utils.common``: compares graphs, lifts subgraphs into modules."""

from __future__ import annotations

from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule, _assign_attr, _get_attr
from pellucid.nn import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module of given submodules, without a ``forward``."""

    def __init__(self, d: dict[str, Module]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule,
    subgraph: Graph,
    comp_name: str = "",
    class_name: str = "GraphModule",
) -> tuple[GraphModule, dict[str, str]]:
    """A GraphModule of ``subgraph`` with the submodules of ``gm`` that it uses; and a
    dict from their names in ``gm`` to their names below ``comp_name``.
    """
    holder = HolderModule({})
    names: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op in ("call_module", "get_attr"):
            target = str(node.target)
            _assign_attr(_get_attr(gm, target), holder, target)
            names[target] = f"{comp_name}.{target}"
    return GraphModule(holder, subgraph, class_name), names


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether the graphs make the same calls and return the same values."""
    from pellucid.fx.passes.utils.matcher_utils import SubgraphMatcher

    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return len(matcher.match(right)) > 0

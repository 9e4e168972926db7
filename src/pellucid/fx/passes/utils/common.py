"""``torch.fx.passes.utils.common``: graphs compared, and parts of them as modules."""

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
    """A GraphModule of ``subgraph`` with the parts of ``gm`` that it names, and the
    names that its parameters have in ``gm`` by their new names.
    """
    holder = HolderModule({})
    original: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = str(node.target)
        if "." not in target and node.op == "get_attr":
            value = _get_attr(gm, target)
            setattr(holder, target, value)
            original[f"{comp_name}.{target}" if comp_name else target] = target
            continue
        value = _get_attr(gm, target)
        _assign_attr(value, holder, target)
        prefix = f"{comp_name}." if comp_name else ""
        if isinstance(value, Module):
            for name, _ in value.named_parameters():
                original[f"{prefix}{target}.{name}"] = f"{target}.{name}"
        else:
            original[f"{prefix}{target}"] = target
    return GraphModule(holder, subgraph, class_name), original


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether they are the same calls, and return the same."""
    from pellucid.fx.passes.utils.matcher_utils import SubgraphMatcher

    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return len(matcher.match(right)) > 0

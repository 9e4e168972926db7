"""``torch.fx.passes.utils.matcher_with_name_node_map_utils``: matches whose nodes have
names that the pattern gives them.
"""

from __future__ import annotations

from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """Finds a pattern that also returns a dict of nodes by name.

    Example::

        def pattern(x, w):
            linear = F.linear(x, w)
            relu = torch.relu(linear)
            return relu, {"linear": linear, "relu": relu}

        matcher = SubgraphMatcherWithNameNodeMap(symbolic_trace(pattern))
        for match in matcher.match(traced.graph):
            print(match.name_node_map["linear"])
    """

    def __init__(
        self,
        pattern_gm: GraphModule,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        graph, self.name_to_node = _without_names(pattern_gm)
        super().__init__(
            *(graph, match_output, match_placeholder),
            *(remove_overlapping_matches, ignore_literals),
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The occurrences; their ``name_node_map`` has the graph's nodes by name."""
        found = super().match(graph, node_name_match)
        for match in found:
            match.name_node_map = {
                name: match.nodes_map[node]
                for name, node in self.name_to_node.items()
                if node in match.nodes_map
            }
        return found


def _without_names(pattern: GraphModule) -> tuple[Graph, dict[str, Node]]:
    """A copy of the graph that returns the values alone, and its nodes by name."""
    copies: dict[Node, Node] = {}
    graph = Graph()
    results = graph.graph_copy(pattern.graph, copies)
    if not isinstance(results, tuple | list) or not isinstance(results[-1], dict):
        raise AssertionError(
            "the pattern returns its results and a dict of nodes by name, and returned "
            f"{results}"
        )
    *values, names = results
    graph.output(values[0] if len(values) == 1 else tuple(values))
    graph.owning_module = pattern
    return graph, dict(names)

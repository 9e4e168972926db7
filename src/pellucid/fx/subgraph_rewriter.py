"""``torch.fx.subgraph_rewriter``: replaces every occurrence of a pattern.

The pattern and its replacement are functions or modules, which are traced, or Graphs.
``passes/utils/matcher_utils.py`` does the matching.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pellucid.fx._symbolic_trace import symbolic_trace
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule, _assign_attr, _get_attr, _has_attr
from pellucid.fx.node import Node
from pellucid.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from pellucid.nn import Module

__all__ = [
    "Match",
    "ReplacedPatterns",
    "replace_pattern",
    "replace_pattern_with_filters",
]

Pattern = Callable[..., Any] | Graph | GraphModule
MatchFilter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """One occurrence: the last node of the pattern, and the graph node of each one."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """One replaced occurrence, with the nodes that replaced it."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(
    gm: GraphModule, pattern: Pattern, replacement: Pattern
) -> list[Match]:
    """Replaces every non-overlapping occurrence; ``gm`` is changed and recompiled.
    Parameters of pattern and replacement correspond by position.

    Example::

        replace_pattern(traced, lambda x: torch.neg(torch.relu(x)), lambda x: -x)
    """
    replaced = _replace(gm, pattern, replacement)
    return [Match(anchor=m.anchor, nodes_map=m.nodes_map) for m in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[MatchFilter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Like ``replace_pattern``, for matches that pass every filter ``(match, graph,
    pattern)``; ``replacement_callback`` may build the replacement of each match.
    """
    return _replace(
        *(gm, pattern, replacement, match_filters, ignore_literals),
        *(replacement_callback, node_name_match),
    )


def _graph_of(pattern: Pattern) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    if isinstance(pattern, Graph):
        return pattern
    return symbolic_trace(pattern).graph


def _replace(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None,
    match_filters: list[MatchFilter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(
        pattern_graph,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=ignore_literals,
    )
    matches = [
        match
        for match in matcher.match(graph, node_name_match=node_name_match)
        if all(keep(match, graph, pattern_graph) for keep in match_filters or ())
    ]
    if replacement is None and replacement_callback is None:
        raise AssertionError(
            "Must provide either a replacement GraphModule or a replacement callback"
        )
    common = _graph_of(replacement) if replacement is not None else None
    replaced = []
    renewed: dict[Node, Node] = {}
    for match in matches:
        new_graph = common
        if new_graph is None:
            assert replacement_callback is not None
            new_graph = replacement_callback(match, graph, pattern_graph)
        replaced.append(_replace_one(gm, match, new_graph, renewed))
    gm.recompile()
    if isinstance(replacement, Module) or common is not None:
        _take_submodules(gm, replacement)
    return replaced


def _replace_one(
    gm: GraphModule, match: InternalMatch, new_graph: Graph, renewed: dict[Node, Node]
) -> ReplacedPatterns:
    graph = gm.graph
    inputs = new_graph.find_nodes(op="placeholder")
    if len(match.placeholder_nodes) != len(inputs):
        raise AssertionError(
            f"the pattern has {len(match.placeholder_nodes)} inputs, the replacement "
            f"{len(inputs)}"
        )
    values: dict[Node, Any] = {}
    for new, old in zip(inputs, match.placeholder_nodes, strict=True):
        values[new] = renewed.get(old, old) if isinstance(old, Node) else old
    own = [
        gn
        for pn, gn in match.nodes_map.items()
        if pn.op not in ("placeholder", "output") and isinstance(gn, Node)
    ]
    read = {node for node in values.values() if isinstance(node, Node)}
    place = _insertion_point(match, own, read)
    before = set(graph.nodes)
    with graph.inserting_before(place):
        result = graph.graph_copy(new_graph, values)
    results = [result] if isinstance(result, Node) else list(result or ())
    if len(match.returning_nodes) != len(results):
        raise AssertionError(
            f"the pattern returns {len(match.returning_nodes)} values, the replacement "
            f"{len(results)}"
        )
    made = [node for node in graph.nodes if node not in before]
    for old, new in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(new)
        renewed[old] = new
    _erase(gm, own)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _insertion_point(match: InternalMatch, own: list[Node], read: set[Node]) -> Node:
    """The insertion point: before the first user, and after all inputs."""
    readers = [u for node in match.returning_nodes for u in node.users if u not in own]
    first = min(readers, default=max(own).next)
    latest = max((n for n in read), default=None)
    if latest is not None and first <= latest:
        return latest.next
    return first


def _erase(gm: GraphModule, nodes: list[Node]) -> None:
    for node in sorted(nodes, reverse=True):
        if not node.users:
            gm.graph.erase_node(node)


def _take_submodules(gm: GraphModule, replacement: Any) -> None:
    """Adds the targets of the new nodes to the module."""
    gm.delete_all_unused_submodules()
    owner = replacement
    if isinstance(replacement, Graph):
        owner = replacement.owning_module
    elif not isinstance(replacement, Module):
        owner = None
    if owner is None:
        return
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = str(node.target)
        if _has_attr(gm, target):
            continue
        if not _has_attr(owner, target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting '
                f"with "
                f"target {target}, but the referenced attribute does not exist in the "
                "replacement GraphModule"
            )
        _assign_attr(copy.deepcopy(_get_attr(owner, target)), gm, target)
    gm.graph.lint()

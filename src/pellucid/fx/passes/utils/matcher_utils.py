"""``torch.fx.passes.utils.matcher_utils``: finds occurrences of a pattern in a graph.

The last nodes of the pattern are its anchors: a match starts at each node of the graph
that could be an anchor and follows arguments backwards. Used by
``subgraph_rewriter.py``.
"""

from __future__ import annotations

import copy
import logging
import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pellucid
from pellucid.fx.graph import Graph
from pellucid.fx.node import Node, map_aggregate

__all__ = ["InternalMatch", "SubgraphMatcher"]

logger = logging.getLogger(__name__)
logger.setLevel(os.environ.get("PYTORCH_MATCHER_LOGLEVEL", "WARNING").upper())


@dataclass
class InternalMatch:
    """One occurrence: the mapping from pattern nodes to graph nodes."""

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            anchors=self.anchors,
            nodes_map=self.nodes_map.copy(),
            placeholder_nodes=self.placeholder_nodes.copy(),
            returning_nodes=self.returning_nodes.copy(),
            name_node_map=dict(self.name_node_map),
        )


def _attribute(node: Node) -> Any:
    value: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value


class SubgraphMatcher:
    """Finds a pattern, a Graph whose placeholders match anything.

    ``match_output`` and ``match_placeholder`` require an output or input in the graph
    too; ``ignore_literals`` ignores differences of numbers and strings.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError(
                "SubgraphMatcher cannot be initialized with an empty pattern"
            )
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with "
                    "dead code"
                )
        self.pattern_placeholder_nodes = pattern.find_nodes(op="placeholder")
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [
                node for node in output.all_input_nodes if len(node.users) == 1
            ]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The non-overlapping occurrences whose inner results have no other users."""
        candidates: dict[Node, list[Node]] = defaultdict(list)
        for anchor in self.pattern_anchors:
            for node in graph.nodes:
                if self._nodes_are_equal(anchor, node, node_name_match):
                    candidates[anchor].append(node)
        found = self._combine(list(candidates.items()), node_name_match)
        found = [match for match in found if self._is_contained(match.nodes_map)]
        valid = [match for match in found if self._check_fused(match)]
        return self._without_overlap(valid)

    def _combine(
        self, candidates: list[tuple[Node, list[Node]]], node_name_match: str
    ) -> list[InternalMatch]:
        found: list[InternalMatch] = []
        if len(candidates) < len(self.pattern_anchors):
            return found

        def extend(index: int, match: InternalMatch) -> None:
            if index == len(candidates):
                match.placeholder_nodes = [
                    match.nodes_map[node]
                    for node in self.pattern_placeholder_nodes
                    if node in match.nodes_map
                ]
                match.returning_nodes = [
                    match.nodes_map[node] for node in self.pattern_returning_nodes
                ]
                found.append(match)
                return
            anchor, nodes = candidates[index]
            for node in nodes:
                trial = copy.copy(match)
                if self._match_nodes(anchor, node, trial, node_name_match):
                    extend(index + 1, trial)

        extend(0, InternalMatch(anchors=self.pattern_anchors))
        return found

    # One node

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        try:
            wanted, value = _attribute(pn), _attribute(gn)
        except AttributeError:
            return False
        if type(wanted) is not type(value):
            return False
        if isinstance(wanted, pellucid.Tensor):
            return True
        return bool(wanted == value) if not hasattr(wanted, "graph") else True

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        if pn.op == "call_module":
            return self._same_kind_of_module(pn, gn)
        return pn.target == gn.target

    def _same_kind_of_module(self, pn: Node, gn: Node) -> bool:
        if pn.graph.owning_module is None or gn.graph.owning_module is None:
            return pn.target == gn.target
        wanted, module = _attribute(pn), _attribute(gn)
        return type(wanted) is type(module)

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("pn and gn cannot both be Node")
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return bool(match.nodes_map[pn] == gn)
            match.nodes_map[pn] = gn
            return True
        if isinstance(gn, Node):
            return False
        return type(gn) is type(pn) and bool(gn == pn)

    def _match_nodes(
        self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = ""
    ) -> bool:
        if not isinstance(pn, Node) or not isinstance(gn, Node):
            raise AssertionError(f"pn and gn must be Node, pn: {pn}, gn: {gn}")
        if pn in match.nodes_map:
            return match.nodes_map[pn] == gn
        if gn in match.nodes_map.values():
            return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if self._match_arguments(pn, gn, match):
            return True
        match.nodes_map = saved.nodes_map
        match.placeholder_nodes = saved.placeholder_nodes
        match.returning_nodes = saved.returning_nodes
        return False

    def _match_arguments(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        if pn.op == "output" and gn.op == "output":
            wanted, given = _leaves(pn.args), _leaves(gn.args)
            return self._match_all(wanted, given, match)
        pn_args, gn_args = list(pn.args), list(gn.args)
        pn_kwargs, gn_kwargs = pn.kwargs, gn.kwargs
        if len(pn_args) != len(gn_args) or list(pn_kwargs) != list(gn_kwargs):
            pn_args, pn_kwargs, gn_args, gn_kwargs = _by_signature(pn, gn)
        if len(pn_args) != len(gn_args) or set(pn_kwargs) != set(gn_kwargs):
            return False
        if not self._match_all(_leaves(pn_args), _leaves(gn_args), match):
            return False
        return all(
            self._match_all(_leaves(pn_kwargs[key]), _leaves(gn_kwargs[key]), match)
            for key in pn_kwargs
        )

    def _match_all(
        self, wanted: list[Any], given: list[Any], match: InternalMatch
    ) -> bool:
        if len(wanted) != len(given):
            return False
        return all(
            self._match_value(a, b, match) for a, b in zip(wanted, given, strict=True)
        )

    def _match_value(self, wanted: Any, given: Any, match: InternalMatch) -> bool:
        if isinstance(wanted, Node) and isinstance(given, Node):
            return self._match_nodes(wanted, given, match)
        if isinstance(wanted, list | tuple) and isinstance(given, list | tuple):
            return self._match_all(list(wanted), list(given), match)
        return self._match_literals(wanted, given, match) or self.ignore_literals

    # Whole matches

    def _is_contained(self, nodes_map: dict[Node, Node]) -> bool:
        """Whether only returned nodes are read from outside."""
        own = {
            gn: pn
            for pn, gn in nodes_map.items()
            if pn.op != "placeholder" and isinstance(gn, Node)
        }
        for gn, pn in own.items():
            if pn in self.pattern_returning_nodes or pn.op == "output":
                continue
            if any(user not in own for user in gn.users):
                return False
        return True

    def _check_fused(self, match: InternalMatch) -> bool:
        from pellucid.fx.passes.utils.fuser_utils import validate_partition

        own = [
            gn
            for pn, gn in match.nodes_map.items()
            if pn.op not in ("placeholder", "output") and isinstance(gn, Node)
        ]
        return validate_partition(own)

    def _without_overlap(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        if not self.remove_overlapping_matches:
            return matches
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in matches:
            own = {
                gn
                for pn, gn in match.nodes_map.items()
                if pn.op not in ("placeholder", "output") and isinstance(gn, Node)
            }
            if not own & taken:
                kept.append(match)
                taken |= own
        return kept


def _leaves(tree: Any) -> list[Any]:
    found: list[Any] = []

    def note(leaf: Any) -> Any:
        found.append(leaf)
        return leaf

    if isinstance(tree, list | tuple | dict | slice):
        map_aggregate(tree, note)
        return found
    return [tree]


def _by_signature(pn: Node, gn: Node) -> tuple[list[Any], Any, list[Any], Any]:
    from pellucid.fx.operator_schemas import normalize_call

    wanted = normalize_call(pn.target, pn.args, pn.kwargs)
    given = normalize_call(gn.target, gn.args, gn.kwargs)
    if wanted is None or given is None:
        return list(pn.args), pn.kwargs, list(gn.args), gn.kwargs
    return [], wanted, [], given

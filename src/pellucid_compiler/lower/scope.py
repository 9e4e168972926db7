"""The state of lowering one Graph: use lists, the plan, and what is done.

Shared by graph.py, which walks the nodes, nodes.py and recurrences.py, which lower
them.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from pellucid_compiler.ir.graph import Graph, Node, Uses, Value
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs
from pellucid_compiler.ir.traversal import loads
from pellucid_compiler.lower.aliases import copied_value
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.nests import SEARCHES
from pellucid_compiler.lower.pipelines import reads_shifted
from pellucid_compiler.lower.scans import permutation
from pellucid_compiler.passes.ranges import read_in_pieces


@dataclass(eq=False)
class Scope:
    """One Graph being lowered to steps of ``builder``.

    ``done``: the nodes that were lowered with an earlier one. ``copied``: the values
    that may not be views. ``in_pieces``: those of which only the pieces are read.
    ``lower_body`` lowers a nested Graph to a plan of its own. ``contracts``: sums of
    products are matrix products.
    """

    graph: Graph
    builder: PlanBuilder
    may_alias: bool
    lower_body: Callable[[Graph, PlanBuilder], None]
    contracts: bool = True
    done: set[Node] = field(default_factory=set)

    def __post_init__(self) -> None:
        graph = self.graph
        self.uses: Uses = graph.uses()
        inputs = frozenset(graph.inputs)
        outputs = [] if self.may_alias else graph.outputs
        copied = (copied_value(output, inputs) for output in outputs)
        self.copied = {*outputs, *(value for value in copied if value is not None)}
        self.in_pieces = read_in_pieces(graph, reads_shifted)
        makers = [v.node for v in self.in_pieces if v.node is not None]
        self._read_later = {v for node in makers for v in node.inputs}
        self._searches = _by_inputs(graph)

    def is_wanted(self, value: Value, members: Container[Node] = ()) -> bool:
        """Whether anything but ``members`` reads ``value``."""
        return self.uses.is_read(value, outside=members)

    def mover(self, node: Node) -> Node | None:
        """The only reader of a node, if it only permutes dims."""
        reader = self.uses.only_reader(node.outputs[0])
        return None if reader is None or permutation(reader) is None else reader

    def alike(self, node: Node) -> list[Node]:
        """The searches over the inputs of ``node`` that are not lowered yet."""
        found = self._searches.get(node.inputs, ())
        return [other for other in found if other not in self.done]

    def may_reuse(self, node: Node) -> bool:
        """Whether the loop may write into the memory of the value that it updates."""
        attrs: LoopAttrs = node.attrs
        if attrs.init is None:
            return False
        updated = node.inputs[attrs.init]
        stores = [*(i for s in attrs.stores for i in s.place)]
        stores += [store.body for store in attrs.stores]
        if any(node.inputs[e.attr] is updated for e in loads(*stores)):
            return False
        if updated in self._read_later or self.uses.is_read_after(updated, node):
            return False
        return self.builder.is_own(updated)


def _by_inputs(graph: Graph) -> dict[tuple[Value, ...], list[Node]]:
    """The loops that search for an extreme value or its index, by their inputs."""
    found: dict[tuple[Value, ...], list[Node]] = {}
    for node in graph.nodes:
        if node.primitive is LOOP and node.attrs.combine in SEARCHES:
            found.setdefault(node.inputs, []).append(node)
    return found

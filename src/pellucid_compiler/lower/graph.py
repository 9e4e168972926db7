"""Graph -> Plan: the passes of the pipeline, then steps node by node.

``lower_graph`` is the entry; tools/freeze.py and pellucid._C._runtime.tracing call it
through specialise/graphs.py. Loops over the same rows are held back until their group
is complete; every other node is lowered in order. Read next: pipelines.py,
open_groups.py, nodes.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pellucid_compiler.abi.plan import IndexedDim, Plan
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph, Node, Requirement
from pellucid_compiler.ir.indexed import indexed_dims
from pellucid_compiler.ir.primitives import LOOP, NONZERO
from pellucid_compiler.ir.traversal import symbols
from pellucid_compiler.lower.bodies import NotAffine
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.contraction import match_contraction
from pellucid_compiler.lower.loops import is_map
from pellucid_compiler.lower.nodes import lower_node
from pellucid_compiler.lower.open_groups import OpenGroups
from pellucid_compiler.lower.pipelines import op_passes
from pellucid_compiler.lower.registers import LoweringError, Source, size_sources
from pellucid_compiler.lower.rows import RowGroup
from pellucid_compiler.lower.scope import Scope
from pellucid_compiler.passes.manager import Observer, run_passes


@dataclass(frozen=True)
class Lowered:
    """A plan and the kernels that it uses, by id."""

    plan: Plan
    kernels: Mapping[bytes, Kernel]


def lower_graph(
    graph: Graph,
    sources: Mapping[str, Source],
    *,
    name: str,
    guards: Iterable[tuple[Expr, bool]] = (),
    may_alias: bool = False,
    index_error: str = "IndexError",
    index_message: str = "",
    images: bool = False,
    contracts: bool = True,
    observe: Observer | None = None,
) -> Lowered:
    """The plan of ``graph``; ``sources`` binds numbers, sizes come from the inputs.

    ``may_alias``: outputs may share memory with inputs (views and derivatives).
    ``index_error``, ``index_message``: the error for an index out of bounds.
    ``images``: its inputs and results may be channels-last. ``contracts``: sums of
    products run as matrix products, whose bits differ from those of sums; without it
    this is a group of recorded ops, whose results must be those of the ops. ``observe``
    receives each pass.
    """
    final = run_passes(
        graph, op_passes(may_alias, reads_outputs=not contracts), observe
    )
    builder = PlanBuilder(name, {**size_sources(final), **sources}, images=images)
    for value in final.inputs:
        builder.input(value)
    for condition, expected in guards:
        builder.registers.guard(condition, expected)
    _GraphLowering(final, builder, may_alias, contracts).run()
    plan = replace(
        builder.finish(final.outputs),
        index_error=index_error,
        index_message=index_message,
        indexed=_indexed(graph),
    )
    return Lowered(plan, builder.kernels)


def _indexed(graph: Graph) -> tuple[IndexedDim, ...]:
    """Which inputs hold indices: as declared, before passes fuse the loops."""
    return tuple(
        IndexedDim(r.index, r.dim, r.size_of, _or_all(r.size_dim), r.wraps)
        for r in indexed_dims(graph)
    )


def _or_all(dim: int | None) -> int:
    return -1 if dim is None else dim


def _lower_body(graph: Graph, builder: PlanBuilder) -> None:
    """Lower a nested Graph to the steps of its own plan."""
    _GraphLowering(graph, builder, may_alias=False).run()


class _GraphLowering:
    """Walks the nodes in order, holding back the row groups that are being built.

    A node joins a group, or is lowered after the groups that it reads.
    """

    def __init__(
        self,
        graph: Graph,
        builder: PlanBuilder,
        may_alias: bool,
        contracts: bool = True,
    ) -> None:
        self.graph = graph
        self.scope = Scope(graph, builder, may_alias, _lower_body, contracts)
        self.groups = OpenGroups(self._lower_group)
        self.requirements = _Requirements(graph, builder)
        # Maps with which a row group may begin; only for recorded ops, where maps
        # before an anchor are results of their own.
        self.held: list[Node] | None = None if contracts else []

    def run(self) -> None:
        for node in self.graph.nodes:
            if node not in self.scope.done:
                self._visit(node)
        self._lower_held()
        self.groups.close_longest_first()
        self.requirements.finish()

    def _visit(self, node: Node) -> None:
        if self.held and self._opens_with_held(node):
            return
        if not self.scope.in_pieces.isdisjoint(node.outputs):
            self.groups.close(self.groups.reading(node))
            return
        contraction = match_contraction(node) if self.scope.contracts else None
        is_matrix = contraction is not None and contraction.is_matrix
        if not is_matrix and self.groups.try_add(node):
            return
        if node.primitive is LOOP and node.attrs.init is not None:
            self.groups.close_all()  # before it overwrites what they read
        else:
            self.groups.close(self.groups.reading(node))
        opened = RowGroup.start(node) if contraction is None else None
        if opened is not None:
            self.groups.open(opened)
        elif self.held is not None and is_map(node):
            self.held.append(node)
        else:
            self._lower(node)

    def _opens_with_held(self, node: Node) -> bool:
        """Whether the node reads a map that was held back, and opens a group with it;
        if it only reads one, all are lowered.
        """
        read = [map_ for map_ in self.held or () if map_.outputs[0] in node.inputs]
        if not read:
            return False
        group = RowGroup.start(node)
        if len(read) == 1 and group is not None and group.prepend(read[0]):
            others = [map_ for map_ in self.held or () if map_ is not read[0]]
            self.held = others
            self._lower_held()
            self.groups.close(self.groups.reading(node))
            self.groups.open(group)
            return True
        self._lower_held()
        return False

    def _lower_held(self) -> None:
        """Lower each in a group that reads the same values, else by itself. A sum that
        would split its rows differently without the map keeps its order.
        """
        held, self.held = self.held or (), None if self.held is None else []
        for node in held:
            if not self.groups.try_add(node, to_worthwhile=True):
                self._lower(node)

    def _lower(self, node: Node) -> None:
        lower_node(node, self.scope)
        if node.primitive is NONZERO:
            self.requirements.bind(node.attrs.size.attr)

    def _lower_group(self, group: RowGroup) -> None:
        members = {member.node: None for member in group.members}
        if group.is_worthwhile:
            try:
                group.lower(
                    self.scope.builder,
                    lambda value: self.scope.is_wanted(value, members),
                )
                return
            except NotAffine:
                pass
        for node in members:
            self._lower(node)


class _Requirements:
    """The Graph's requirements, each checked as soon as its symbols are bound."""

    def __init__(self, graph: Graph, builder: PlanBuilder) -> None:
        self.name, self.builder = graph.name, builder
        self.known = set(builder.registers.sources)
        self.pending = list(graph.requirements)
        self._check()

    def bind(self, count: str) -> None:
        """Bind a count that a step has computed."""
        self.known.add(count)
        self._check()

    def finish(self) -> None:
        if self.pending:
            missing = self.pending[0].condition
            raise LoweringError(f"{self.name}: nothing binds the symbols of {missing}")

    def _check(self) -> None:
        later: list[Requirement] = []
        for requirement in self.pending:
            needed = symbols(requirement.condition, *requirement.given)
            if all(s.attr in self.known for s in needed):
                self.builder.facts.append(requirement.condition)
                self.builder.registers.check(requirement)
            else:
                later.append(requirement)
        self.pending = later

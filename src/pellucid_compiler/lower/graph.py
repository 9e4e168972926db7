"""Graph -> Plan: calls inlined, loops fused, grouped into rows and lowered one by one.

``lower_graph`` is the entry; tools/freeze.py and pellucid._runtime.tracing call it
through specialise. A loop tries, in this order: a group of rows, a contraction, a view,
an affine nest, the general nest. Read next: loops.py, rows.py, nests.py,
contraction.py.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.ir.build import emit_copy
from pellucid_compiler.ir.expr import Expr, const, loads, symbols
from pellucid_compiler.ir.graph import Graph, Node, Requirement, Value
from pellucid_compiler.ir.kinds import view_map
from pellucid_compiler.ir.primitives import (
    LIBRARY,
    LOOP,
    NONZERO,
    RESHAPE,
    SCAN,
    LoopAttrs,
    ScanAttrs,
)
from pellucid_compiler.lower.aliases import copied_value
from pellucid_compiler.lower.bodies import NotAffine
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.contraction import (
    Contraction,
    Epilogue,
    emit_contraction,
    match_contraction,
    match_epilogue,
    memory_order,
    moved,
    reads_beyond,
)
from pellucid_compiler.lower.lanes import find_lanes
from pellucid_compiler.lower.loops import lower_affine, lower_view
from pellucid_compiler.lower.nests import is_search_for, lower_general
from pellucid_compiler.lower.plan import (
    LibraryStep,
    NonzeroStep,
    Plan,
    RecurrenceStep,
    ReshapeStep,
)
from pellucid_compiler.lower.registers import LoweringError, SizeSource, Source
from pellucid_compiler.lower.rows import RowGroup
from pellucid_compiler.lower.scans import is_recurrence, lower_scan, permutation
from pellucid_compiler.lower.stores import lower_stores
from pellucid_compiler.lower.tables import tabulate_indices
from pellucid_compiler.passes.additions import widen_additions
from pellucid_compiler.passes.complex_loops import split_complex
from pellucid_compiler.passes.fuse import fuse, inline_calls
from pellucid_compiler.passes.joined_stores import join_stores
from pellucid_compiler.passes.piecewise_sums import split_sums
from pellucid_compiler.passes.products import split_products
from pellucid_compiler.passes.ranges import read_in_pieces, split_ranges
from pellucid_compiler.passes.shared_stacks import share_stacks
from pellucid_compiler.passes.shifted import Shifted, shifted


@dataclass(frozen=True)
class Lowered:
    """A plan and the kernels that it uses, by id."""

    plan: Plan
    kernels: Mapping[bytes, Kernel]


def size_sources(graph: Graph) -> dict[str, Source]:
    """The symbols that are sizes of the Graph's inputs.

    A tensor ``self`` names its sizes ``self.0``, ... even where its shape says that one
    of them equals another tensor's.
    """
    own: dict[str, Source] = {}
    shared: dict[str, Source] = {}
    for position, value in enumerate(graph.inputs):
        for dim, size in enumerate(value.shape):
            if value.name is not None:
                own.setdefault(f"{value.name}.{dim}", SizeSource(position, dim))
            if size.op == "sym":
                shared.setdefault(size.attr, SizeSource(position, dim))
    return {**shared, **own}  # a check that two sizes are equal reads both


def lower_graph(
    graph: Graph,
    sources: Mapping[str, Source],
    *,
    name: str,
    guards: Iterable[tuple[Expr, bool]] = (),
    may_alias: bool = False,
    index_error: str = "IndexError",
    images: bool = False,
) -> Lowered:
    """The plan of ``graph``; ``sources`` binds numbers, sizes are found in the inputs.

    ``may_alias``: outputs may share memory with inputs (views and derivatives).
    ``index_error``: what an index out of bounds raises. ``images``: the channels of
    what it reads and makes may lie last in memory.
    """
    real = split_complex(inline_calls(graph))
    shared = share_stacks(fuse(real), is_recurrence)
    sums = split_sums(shared, _reads_shifted)
    products = split_products(sums, reads_beyond)
    split = split_ranges(widen_additions(products), _reads_shifted)
    fused = _with_own_outputs(_postponed(tabulate_indices(split)), may_alias)
    builder = PlanBuilder(name, {**size_sources(fused), **sources}, images=images)
    for value in fused.inputs:
        builder.input(value)
    for condition, expected in guards:
        builder.registers.guard(condition, expected)
    _GraphLowering(fused, builder, may_alias).run()
    plan = replace(builder.finish(fused.outputs), index_error=index_error)
    return Lowered(plan, builder.kernels)


def _reads_shifted(node: Node, value: Value) -> bool:
    """Whether the node is a recurrence that reads ``value`` as a shifted stack."""
    if not is_recurrence(node) or shifted(value) is None:
        return False
    attrs: ScanAttrs = node.attrs
    end = len(node.inputs) - attrs.num_constants
    return value not in (*node.inputs[: attrs.num_carries], *node.inputs[end:])


def _postponed(graph: Graph) -> Graph:
    """What follows from the inputs and is read only behind the last scan is computed
    there: it takes no memory while the scan runs.
    """
    scans = [k for k, node in enumerate(graph.nodes) if node.primitive is SCAN]
    before = graph.nodes[: scans[-1] + 1] if scans else []
    known, movable = set(graph.inputs), []
    for node in before:
        if node.primitive is LOOP and node.inputs and known.issuperset(node.inputs):
            known.update(node.outputs)
            movable.append(node)
    read = {v for node in before if node not in movable for v in node.inputs}
    late: list[Node] = []
    for node in reversed(movable):
        if read.isdisjoint(node.outputs):
            late.insert(0, node)
        else:
            read.update(node.inputs)
    kept = [node for node in before if node not in late]
    graph.nodes = [*kept, *late, *graph.nodes[len(before) :]]
    return graph


def _with_own_outputs(graph: Graph, may_alias: bool) -> Graph:
    """Outputs that are inputs, or inputs reshaped, become loops: these can be views or
    copies.
    """

    def is_input(value: Value) -> bool:
        if may_alias or value.node is None or value.node.primitive is not RESHAPE:
            return value in graph.inputs
        return copied_value(value, graph.inputs) is value

    graph.outputs = [
        emit_copy(graph, value) if is_input(value) else value for value in graph.outputs
    ]
    return graph


class _GraphLowering:
    """Walks the nodes in order, holding back the row groups that are being built.

    A node joins a group, or is lowered after the groups that it reads.
    """

    def __init__(self, graph: Graph, builder: PlanBuilder, may_alias: bool) -> None:
        self.graph, self.builder = graph, builder
        outputs = [] if may_alias else graph.outputs
        self.copied = {*outputs, *(copied_value(o, graph.inputs) for o in outputs)}
        self.groups: list[RowGroup] = []
        self.pending = list(graph.requirements)
        self.known: set[str] = set(builder.registers.sources)
        self.done: set[Node] = set()
        self.in_pieces = read_in_pieces(graph, _reads_shifted)
        makers = [v.node for v in self.in_pieces if v.node is not None]
        self.read_later = {v for node in makers for v in node.inputs}

    def run(self) -> None:
        self._require_known()
        for node in self.graph.nodes:
            self._visit(node)
        self._close(*sorted(self.groups, key=lambda g: -len(g.members)))
        if self.pending:
            missing = self.pending[0].condition
            raise LoweringError(
                f"{self.graph.name}: nothing binds the symbols of {missing}"
            )

    def _require_known(self) -> None:
        later: list[Requirement] = []
        for requirement in self.pending:
            needed = symbols(requirement.condition, *requirement.given)
            if all(s.attr in self.known for s in needed):
                self._require(requirement)
            else:
                later.append(requirement)
        self.pending = later

    def _require(self, requirement: Requirement) -> None:
        self.builder.facts.append(requirement.condition)
        self.builder.registers.check(requirement)

    def _visit(self, node: Node) -> None:
        if node in self.done:
            return
        touched = [group for group in self.groups if group.reads(node)]
        if not self.in_pieces.isdisjoint(node.outputs):
            self._close(*touched)
            return
        contraction = match_contraction(node)
        is_matrix = contraction is not None and contraction.is_matrix
        if not is_matrix and self._join(node, touched):
            return
        is_update = node.primitive is LOOP and node.attrs.init is not None
        self._close(*(self.groups if is_update else touched))  # before it overwrites
        opened = RowGroup.start(node) if contraction is None else None
        if opened is not None:
            self.groups.append(opened)
        else:
            self._lower(node)

    def _join(self, node: Node, touched: Sequence[RowGroup]) -> bool:
        """Add the node to an open group; then the others that it reads are closed."""
        near = [group for group in self.groups if group.shares_input(node)]
        for group in dict.fromkeys((*touched, *near)):
            if group.join(node):
                self._close(*(other for other in touched if other is not group))
                return True
        return False

    def _close(self, *groups: RowGroup) -> None:
        for group in groups:
            if group in self.groups:
                self.groups.remove(group)
                self._absorb(group)
                self._lower_group(group)

    def _absorb(self, group: RowGroup) -> None:
        """Add open groups of one loop to ``group``: nothing has read them yet."""
        if len(group.members) < 2:
            return
        for other in list(self.groups):
            (node, *more) = [member.node for member in other.members]
            if not more and group.shares_input(node) and group.join(node):
                self.groups.remove(other)

    def _lower_group(self, group: RowGroup) -> None:
        members = [member.node for member in group.members]
        if group.is_worthwhile:
            try:
                group.lower(self.builder, lambda value: self._is_wanted(value, members))
                return
            except NotAffine:
                pass
        for node in members:
            self._lower(node)

    def _is_wanted(self, value: Value, members: Sequence[Node] = ()) -> bool:
        """Whether anything outside the group reads ``value``."""
        if value in self.graph.outputs:
            return True
        return any(
            value in node.inputs for node in self.graph.nodes if node not in members
        )

    def _lower(self, node: Node) -> None:
        contraction = match_contraction(node)
        if contraction is not None and self._lower_contraction(contraction):
            return
        if node.primitive is LOOP:
            self._lower_loop(node)
        elif node.primitive is RESHAPE:
            source = self.builder.number(node.inputs[0])
            self.builder.steps.append(
                ReshapeStep(self.builder.define(node.outputs[0]), source)
            )
        elif node.primitive is SCAN:
            mover = self._mover(node)
            if not lower_scan(node, self.builder, mover):
                self._lower_recurrence(node)
            elif mover is not None:
                self.done.add(mover)
        elif node.primitive is NONZERO:
            self._lower_nonzero(node)
        elif node.primitive is LIBRARY:
            self._lower_library(node)
        else:
            raise LoweringError(f"no plan for the primitive {node.primitive.name}")

    def _lower_loop(self, node: Node) -> None:
        if view_map(node) is not None and node.outputs[0] not in self.copied:
            lower_view(node, self.builder)
        elif not lower_affine(node, self.builder):
            reuses = self._may_reuse(node)
            if not lower_stores(node, self.builder, reuses):
                self._lower_nest(node, reuses)

    def _lower_nest(self, node: Node, reuses: bool) -> None:
        """A general nest; a search for values and one for their places are one."""
        for other in self.graph.nodes:
            for values, places in ((node, other), (other, node)):
                if other not in self.done and is_search_for(values, places):
                    self.done.add(other)
                    return lower_general(places, self.builder, reuses, values)
        return lower_general(node, self.builder, reuses)

    def _may_reuse(self, node: Node) -> bool:
        """Whether the loop may write into the memory of the value that it updates."""
        attrs: LoopAttrs = node.attrs
        if attrs.init is None:
            return False
        updated = node.inputs[attrs.init]
        stores = [*(i for s in attrs.stores for i in s.place)]
        stores += [store.body for store in attrs.stores]
        if any(node.inputs[e.attr] is updated for e in loads(*stores)):
            return False
        later = self.graph.nodes[self.graph.nodes.index(node) + 1 :]
        if updated in self.graph.outputs or updated in self.read_later:
            return False
        if any(updated in n.inputs for n in later):
            return False
        return self.builder.is_own(updated)

    def _lower_contraction(self, contraction: Contraction) -> bool:
        epilogue = self._epilogue(contraction)
        end = None if epilogue is None else epilogue.node
        if epilogue is None and (mover := self._mover(contraction.node)) is not None:
            order = permutation(mover)
            assert order is not None
            other = moved(contraction, mover, order)
            if other is not None:
                contraction, end = other, mover
        if not emit_contraction(contraction, epilogue, self.builder):
            return False
        if end is not None:
            self.done.add(end)
        return True

    def _epilogue(self, contraction: Contraction) -> Epilogue | None:
        """The only reader of the product, if it can join it here."""
        product = contraction.node.outputs[0]
        readers = [n for n in self.graph.nodes if product in n.inputs]
        if len(readers) != 1 or product in self.graph.outputs:
            return None
        epilogue = match_epilogue(contraction, readers[0])
        if epilogue is None or epilogue.bias is None:
            return epilogue
        return epilogue if self.builder.has(epilogue.bias.value) else None

    def _mover(self, node: Node) -> Node | None:
        """The only reader of a node, if all it does is to permute dims."""
        value = node.outputs[0]
        readers = [n for n in self.graph.nodes if value in n.inputs]
        if len(readers) != 1 or value in self.graph.outputs:
            return None
        return None if permutation(readers[0]) is None else readers[0]

    def _lower_recurrence(self, node: Node) -> None:
        """A step per element: the step's own plan, run by the executor.

        Of a carry of which only the last is read, only that is made; what the step
        computes beside the carries is left out where nothing reads it.
        """
        builder, attrs = self.builder, node.attrs
        count, end = attrs.num_carries, len(node.inputs) - attrs.num_constants
        made = [
            k for k, v in enumerate(node.outputs) if k < count or self._is_wanted(v)
        ]
        whole = Graph(attrs.step.name)
        whole.inputs, whole.nodes = attrs.step.inputs, attrs.step.nodes
        whole.outputs = [attrs.step.outputs[k] for k in made]
        joined = join_stores(fuse(whole.prune()))
        products = split_products(joined, reads_beyond)
        step = split_ranges(widen_additions(products))
        inner = PlanBuilder(builder.name, size_sources(step), is_open=True)
        for value in step.inputs:
            inner.input(value)
        _GraphLowering(_with_own_outputs(step, may_alias=False), inner, False).run()
        body = inner.finish(step.outputs)
        builder.kernels.update(inner.kernels)
        shifts = [self._shifted(value) for value in node.inputs[count:end]]
        stacks = [
            value if found is None else found.stack
            for value, found in zip(node.inputs[count:end], shifts, strict=True)
        ]
        outputs = [
            self._define_carry(node, k)
            if k < count
            else (builder.define(node.outputs[k]), True)
            for k in made
        ]
        bound = inner.registers.free
        builder.steps.append(
            RecurrenceStep(
                body=body,
                bound=tuple(
                    (register, builder.registers.of(symbol))
                    for symbol, register in bound.items()
                ),
                length=builder.registers.of(attrs.length),
                reverse=attrs.reverse,
                carries=tuple(map(builder.number, node.inputs[:count])),
                sequences=tuple(map(builder.number, stacks)),
                shifts=tuple(0 if s is None else s.shift for s in shifts),
                edges=tuple(builder.number(s.edge) for s in shifts if s is not None),
                constants=tuple(map(builder.number, node.inputs[end:])),
                orders=tuple(memory_order(v, step) for v in step.inputs[end:]),
                outputs=tuple(number for number, _ in outputs),
                stacked=tuple(is_stacked for _, is_stacked in outputs),
                lanes=find_lanes(body, count, bound.values()),
            )
        )

    def _shifted(self, value: Value) -> Shifted | None:
        """``value`` as a shifted stack, where it is not made."""
        return shifted(value) if value in self.in_pieces else None

    def _define_carry(self, node: Node, carry: int) -> tuple[int, bool]:
        """The number of a scan's carry, and whether all elements of it are kept."""
        attrs: ScanAttrs = node.attrs
        stack = node.outputs[carry]
        readers = [n for n in self.graph.nodes if stack in n.inputs]
        if stack in self.graph.outputs or len(readers) > 1:
            return self.builder.define(stack), True
        if not readers:
            return self.builder.temporary(stack.dtype, stack.shape[1:]), False
        last = const(0, "int64") if attrs.reverse else attrs.length - 1
        if not _is_element(readers[0], last):
            return self.builder.define(stack), True
        self.done.add(readers[0])
        return self.builder.define(readers[0].outputs[0]), False

    def _lower_nonzero(self, node: Node) -> None:
        count: Expr = node.attrs.size
        source = self.builder.number(node.inputs[0])
        register = self.builder.registers.deferred(count)
        output = self.builder.define(node.outputs[0])
        self.builder.steps.append(NonzeroStep(output, source, register))
        self.builder.begin_part()
        self.known.add(count.attr)
        self._require_known()

    def _lower_library(self, node: Node) -> None:
        inputs = tuple(self.builder.number(value) for value in node.inputs)
        outputs = tuple(self.builder.define(value) for value in node.outputs)
        numbers = tuple(
            (name, self.builder.registers.of(value))
            for name, value in node.attrs.options
            if isinstance(value, Expr)
        )
        static = tuple(
            (name, value)
            for name, value in node.attrs.options
            if not isinstance(value, Expr)
        )
        self.builder.steps.append(
            LibraryStep(
                name=node.attrs.routine,
                outputs=outputs,
                inputs=inputs,
                options=static,
                numbers=numbers,
            )
        )


def _is_element(node: Node, number: Expr) -> bool:
    """Whether a node gives one element of its operand along the leading dim."""
    if node.primitive is not LOOP or view_map(node) is None:
        return False
    (first, *index), place = node.attrs.store.body.args, node.attrs.store.place
    same = len(index) == len(place)
    return first is number and same and all(map(operator.is_, index, place))

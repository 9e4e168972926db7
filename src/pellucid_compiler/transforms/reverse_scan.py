"""The transpose of a scan: a reverse scan over the cotangents of its carries.

    mu[t] = step_transposed(ct[t] + mu[t + 1])

The scan contains what the cotangents of the carries need, and element-by-element ops on
that. The rest is batched over time after the scan, from values that the scan stacks;
the cotangent of a constant is then a sum over all steps, for example a single matrix
product for a weight. Called only by transpose.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pellucid_compiler.ir.build import (
    element,
    emit_filled,
    emit_loop,
    emit_map,
    emit_scan,
    emit_sum,
    stores_over,
)
from pellucid_compiler.ir.expr import Expr, axis, const, load_index
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import kind_of
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs, ScanAttrs, Store
from pellucid_compiler.ir.traversal import axes_of, loads, uses_axis
from pellucid_compiler.transforms.batch import batch
from pellucid_compiler.transforms.jvp import carry_before

_ELEMENTWISE = ("map", "view", "gather", "store")


class ReverseScan:
    """One scan being transposed with respect to the inputs at ``positions``, its
    carries first.

    ``back`` is the transposed step: a function of the fixed inputs and the cotangents
    of the carries and of other outputs that have one.
    """

    def __init__(
        self,
        g: Graph,
        node: Node,
        inputs: Sequence[Value | None],
        positions: Sequence[int],
        back: Graph,
        cts: Sequence[Value | None],
    ) -> None:
        self.g, self.node, self.positions, self.back = g, node, positions, back
        attrs: ScanAttrs = node.attrs
        self.attrs = attrs._replace(reverse=not attrs.reverse)
        self.num_carries = attrs.num_carries
        self.end = len(inputs) - attrs.num_constants
        self.cts = list(cts)
        fixed = [(p, v) for p, v in enumerate(inputs) if p not in positions]
        self.sequences = [v for p, v in fixed if p < self.end and v is not None]
        self.constants = [v for p, v in fixed if p >= self.end and v is not None]

    def cotangents(self, linear: Sequence[bool]) -> dict[int, Value | None]:
        step, outputs = self._step()
        k = self.num_carries
        inner = _needed(step, outputs[:k])
        inner |= _elementwise(step, inner, _needed(step, outputs[k:]))
        rest = _needed(step, outputs[k:]) - inner
        later = [node for node in step.nodes if node in rest]
        extras = _read_outside(later, outputs[k:], step, inner, outputs[:k])
        stacks = self._run(step, [*outputs[:k], *extras])
        given = dict(zip([*outputs[:k], *extras], stacks, strict=True))
        found = self._batched(step, later, outputs[k:], given, stacks[:k])
        first = const(0, "int64") if self.attrs.reverse else self.attrs.length - 1
        result: dict[int, Value | None] = {
            p: _at_time(self.g, stacks[p], first) for p in range(k) if linear[p]
        }
        for p, value in zip(self.positions[k:], found, strict=True):
            is_constant = p >= self.end
            result[p] = _sum_over_time(self.g, value) if is_constant else value
        return result

    def _step(self) -> tuple[Graph, list[Value]]:
        """(mu, fixed sequences, cotangents; constants) of one step, and the cotangents
        that it computes; no outputs yet.
        """
        step = Graph("step_transposed")
        k = self.num_carries
        mu = [step.input(o.shape[1:], o.dtype) for o in self.node.outputs[:k]]
        sequences = [step.input(v.shape[1:], v.dtype) for v in self.sequences]
        arriving = [
            None if ct is None else step.input(ct.shape[1:], ct.dtype)
            for ct in self.cts
        ]
        constants = [step.input_like(v) for v in self.constants]
        sums = [emit_sum(step, c, m) for c, m in zip(arriving, mu, strict=False)]
        sums += arriving[k:]
        known = [v for v in sums if v is not None]
        return step, step.inline(self.back, [*sequences, *constants, *known])

    def _run(self, step: Graph, outputs: Sequence[Value]) -> tuple[Value, ...]:
        part = Graph(step.name)
        part.inputs, part.nodes = list(step.inputs), list(step.nodes)
        part.outputs = list(outputs)
        zeros = [
            emit_filled(self.g, o.shape[1:], 0, o.dtype)
            for o in self.node.outputs[: self.num_carries]
        ]
        sequences = [*self.sequences, *(ct for ct in self.cts if ct is not None)]
        return emit_scan(
            self.g, part.prune(), zeros, sequences, self.constants, self.attrs
        )

    def _batched(
        self,
        step: Graph,
        later: Sequence[Node],
        outputs: Sequence[Value],
        given: dict[Value, Value],
        stacks: Sequence[Value],
    ) -> list[Value]:
        """The values that the scan does not need, for all times at once."""
        k = self.num_carries
        present = [ct for ct in self.cts if ct is not None]
        whole = [*self.sequences, *present, *self.constants]
        known = {**dict(zip(step.inputs[k:], whole, strict=True)), **given}
        for mu, stack in zip(step.inputs, stacks, strict=False):
            if _is_read(mu, later, outputs):
                known[mu] = carry_before(self.g, None, stack, self.attrs)
        part = Graph("every_step")
        part.inputs = [v for v in known if _is_read(v, later, outputs)]
        part.nodes, part.outputs = list(later), list(outputs)
        constants = set(step.inputs[len(step.inputs) - len(self.constants) :])
        flags = [v not in constants for v in part.inputs]
        every = batch(part, flags, self.attrs.length)
        return self.g.inline(every, [known[v] for v in part.inputs])


def _needed(graph: Graph, values: Iterable[Value]) -> set[Node]:
    """The nodes that ``values`` depend on."""
    live, found = set(values), set()
    for node in reversed(graph.nodes):
        if not live.isdisjoint(node.outputs):
            found.add(node)
            live.update(node.inputs)
    return found


def _elementwise(graph: Graph, inner: set[Node], wanted: set[Node]) -> set[Node]:
    """The ``wanted`` nodes that loop over single elements of values of ``inner``.

    A view that ends such a chain can equally be a view of the stack.
    """
    made = {v for node in inner for v in node.outputs}
    known, found = {*made, *graph.inputs}, set()
    for node in graph.nodes:
        if node in wanted and known.issuperset(node.inputs) and _reads_once(node, made):
            found.add(node)
            made.update(node.outputs)
            known.update(node.outputs)
    for node in [n for n in reversed(graph.nodes) if n in found]:
        is_read = any(_is_read(v, [*found, *inner], ()) for v in node.outputs)
        if kind_of(node) == "view" and not is_read:
            found.remove(node)
    return found


def _reads_once(node: Node, values: set[Value]) -> bool:
    """Whether the node computes each element from one of ``values`` and repeats none;
    an outer product repeats elements, and its sum over time becomes a matrix product.
    """
    if kind_of(node) not in _ELEMENTWISE:
        return False
    attrs: LoopAttrs = node.attrs
    axes = set(range(len(attrs.extents)))
    bodies = [store.body for store in attrs.stores]
    read = [e for e in loads(*bodies) if node.inputs[e.attr] in values]
    return bool(read) and all(axes_of(*load_index(e)) == axes for e in read)


def _is_read(value: Value, nodes: Sequence[Node], outputs: Sequence[Value]) -> bool:
    return value in outputs or any(value in node.inputs for node in nodes)


def _read_outside(
    later: Sequence[Node],
    outputs: Sequence[Value],
    step: Graph,
    inner: set[Node],
    carries: Sequence[Value],
) -> list[Value]:
    """The values of the scan's nodes that later nodes read."""
    made = [v for node in step.nodes if node in inner for v in node.outputs]
    return [v for v in made if v not in carries and _is_read(v, later, outputs)]


def _at_time(g: Graph, stack: Value, time: Expr) -> Value:
    return emit_map(g, stack.shape[1:], lambda *p: element(stack, [time, *p]))


def _sum_over_time(g: Graph, value: Value) -> Value:
    """The sum along the leading axis; of a sum, one sum over more axes."""
    node = value.node
    if node is not None and node.primitive is LOOP:
        attrs: LoopAttrs = node.attrs
        if _is_sum_per_time(attrs):
            (store,) = stores_over(node, node.inputs)
            inner = Store(store.place[1:], store.body)
            return emit_loop(g, attrs.extents, [inner], "sum", attrs.shape[1:])
    rank = value.rank - 1
    place = [axis(d) for d in range(rank)]
    body = element(value, [axis(rank), *place])
    extents = (*value.shape[1:], value.shape[0])
    return emit_loop(g, extents, [Store(tuple(place), body)], "sum", value.shape[1:])


def _is_sum_per_time(attrs: LoopAttrs) -> bool:
    """Whether each time's elements are separate sums, along the time axis."""
    if attrs.combine != "sum" or len(attrs.stores) != 1 or attrs.init is not None:
        return False
    time, *place = attrs.stores[0].place
    if time.op != "axis" or attrs.extents[time.attr] is not attrs.shape[0]:
        return False
    return not attrs.stores[0].drop and not any(
        uses_axis(i, {time.attr}) for i in place
    )

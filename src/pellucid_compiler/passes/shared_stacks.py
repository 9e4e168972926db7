"""Shares equal slices of two stacks of a scan.

The gradients of a GRU's gates on the input side equal those on the state side, except
for one gate. Of two such stacks one stays whole; of the other, the scan stacks only the
slices that differ, and the sums that read it are taken slice by slice, each in place.
The lowering runs this after fusion. Read next: ``merged_stores.py``,
``piecewise_sums.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pellucid_compiler.ir.boxes import Range, box_extents, in_box
from pellucid_compiler.ir.build import (
    element,
    emit_loop,
    emit_map,
    emit_scan,
    over_values,
    stores_over,
)
from pellucid_compiler.ir.expr import (
    Expr,
    const,
    is_const,
    load_index,
    same_exprs,
    select,
)
from pellucid_compiler.ir.graph import Graph, Node, Uses, Value
from pellucid_compiler.ir.kinds import has_plain_store
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs, ScanAttrs, Store
from pellucid_compiler.ir.traversal import loads, substitute
from pellucid_compiler.passes.fuse import fuse
from pellucid_compiler.passes.merged_stores import merge_stores


class _Slices(NamedTuple):
    """A value that a loop assembles from slices along ``dim``: the store of each."""

    node: Node
    dim: int
    stores: Mapping[int, Store]


class _Run(NamedTuple):
    """The slices of a stack from ``start`` to ``stop``: those of ``stack``, or
    ``stack`` itself, which is a single one.
    """

    start: int
    stop: int
    stack: Value
    is_whole: bool


def share_stacks(graph: Graph, is_recurrence: Callable[[Node], bool]) -> Graph:
    """``graph`` with the slices that two stacks of a recurrence share stored once."""
    if not any(map(is_recurrence, graph.nodes)):
        return graph
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    runs: dict[Value, list[_Run]] = {}
    uses = graph.uses()
    for node in graph.nodes:
        shared = [value for value in node.inputs if value in runs]
        if is_recurrence(node):
            _emit_scan(g, uses, node, env, runs)
        elif shared:
            env[node.outputs[0]] = _emit_slices(g, node, shared[0], runs, env)
        else:
            g.copy_node(node, env)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _emit_scan(
    g: Graph,
    uses: Uses,
    node: Node,
    env: dict[Value, Value],
    runs: dict[Value, list[_Run]],
) -> None:
    """The scan; of a stack that is dropped, only the slices that differ."""
    attrs: ScanAttrs = node.attrs
    step = merge_stores(fuse(attrs.step))
    found = _pair(uses, node, step)
    if found is None:
        g.copy_node(node, env)
        return
    whole, dropped = found
    primary, secondary = _slices(step.outputs[whole]), _slices(step.outputs[dropped])
    assert primary is not None and secondary is not None
    own = [n for n in secondary.stores if not _is_shared(primary, secondary, n)]
    others = [k for k in range(len(step.outputs)) if k != dropped]
    step.outputs = [
        *(step.outputs[k] for k in others),
        *(_emit_slice(step, secondary, n) for n in own),
    ]
    count, end = attrs.num_carries, len(node.inputs) - attrs.num_constants
    given = [env[v] for v in node.inputs]
    made = emit_scan(g, step, given[:count], given[count:end], given[end:], attrs)
    env.update((node.outputs[k], v) for k, v in zip(others, made, strict=False))
    parts = dict(zip(own, made[len(others) :], strict=True))
    primary_stack = env[node.outputs[whole]]
    runs[node.outputs[dropped]] = list(_runs(secondary, parts, primary_stack))


def _pair(uses: Uses, node: Node, step: Graph) -> tuple[int, int] | None:
    """The pair of outputs of which one stays whole and the other is dropped."""
    places = range(node.attrs.num_carries, len(step.outputs))
    for dropped in places:
        secondary = _slices(step.outputs[dropped])
        if secondary is None:
            continue
        if not _is_read_by_slice(uses, node.outputs[dropped], secondary):
            continue
        for whole in places:
            primary = _slices(step.outputs[whole])
            if whole == dropped or primary is None or primary.dim != secondary.dim:
                continue
            if any(_is_shared(primary, secondary, n) for n in secondary.stores):
                return whole, dropped
    return None


def _slices(value: Value) -> _Slices | None:
    node = value.node
    if node is None or node.primitive is not LOOP:
        return None
    attrs: LoopAttrs = node.attrs
    if len(attrs.stores) < 2 or attrs.combine != "assign" or not attrs.covered:
        return None
    places = [store.place for store in attrs.stores]
    dims = [d for d in range(value.rank) if len({p[d] for p in places}) > 1]
    if len(dims) != 1 or any(place[dims[0]].op != "const" for place in places):
        return None
    stores = stores_over(node, node.inputs)
    return _Slices(node, dims[0], {int(s.place[dims[0]].attr): s for s in stores})


def _is_shared(primary: _Slices, secondary: _Slices, number: int) -> bool:
    one, other = primary.stores.get(number), secondary.stores[number]
    if one is None or not same_exprs(one.place, other.place):
        return False
    same = same_exprs(primary.node.attrs.extents, secondary.node.attrs.extents)
    return same and one.body is other.body


def _emit_slice(step: Graph, secondary: _Slices, number: int) -> Value:
    """The slice as a value of its own, computed with the others by one kernel."""
    store, attrs = secondary.stores[number], secondary.node.attrs
    place = _without(store.place, secondary.dim)
    shape = _without(attrs.shape, secondary.dim)
    made = emit_loop(step, attrs.extents, [store._replace(place=place)], shape=shape)
    step.nodes.insert(step.nodes.index(secondary.node) + 1, step.nodes.pop())
    return made


def _without(items: Sequence[Expr], place: int) -> tuple[Expr, ...]:
    return (*items[:place], *items[place + 1 :])


def _runs(secondary: _Slices, parts: Mapping[int, Value], whole: Value) -> list[_Run]:
    found: list[_Run] = []
    for number in sorted(secondary.stores):
        last = found[-1] if found else None
        if number in parts:
            found.append(_Run(number, number + 1, parts[number], False))
        elif last is not None and last.is_whole:
            found[-1] = last._replace(stop=number + 1)
        else:
            found.append(_Run(number, number + 1, whole, True))
    return found


# ------------------------------------------------------------------ readers


def _is_read_by_slice(uses: Uses, stack: Value, secondary: _Slices) -> bool:
    """Whether only sums read the stack, each of their elements within one slice."""
    return not uses.is_output(stack) and all(
        _axis_of_slices(node, stack) == secondary.dim + 1
        for node in uses.readers(stack)
    )


def _axis_of_slices(node: Node, stack: Value) -> int | None:
    """The dim of the stack along which each element of a sum reads one slice."""
    if node.primitive is not LOOP or node.attrs.combine != "sum":
        return None
    attrs: LoopAttrs = node.attrs
    if not has_plain_store(attrs):
        return None
    read = _loads_of(node, stack)
    if len(read) != 1:
        return None
    dims = [
        d
        for d, (i, n) in enumerate(zip(load_index(read[0]), stack.shape, strict=True))
        if n.op == "const"
        and not is_const(n, 1)
        and _dim_stored_at(i, attrs) is not None
    ]
    return dims[0] if len(dims) == 1 else None


def _dim_stored_at(index: Expr, attrs: LoopAttrs) -> int | None:
    """The dim of the result that follows an index, which is an axis."""
    found = [d for d, i in enumerate(attrs.store.place) if i is index]
    return found[0] if found and index.op == "axis" else None


def _loads_of(node: Node, value: Value) -> list[Expr]:
    body = over_values(node.attrs.store.body, node.inputs)
    return [e for e in loads(body) if e.attr is value]


def _emit_slices(
    g: Graph,
    node: Node,
    stack: Value,
    runs: Mapping[Value, list[_Run]],
    env: Mapping[Value, Value],
) -> Value:
    """The sum over a dropped stack: one sum for each run of slices."""
    attrs: LoopAttrs = node.attrs
    body = over_values(attrs.store.body, node.inputs)
    (read,) = _loads_of(node, stack)
    dim = _axis_of_slices(node, stack)
    assert dim is not None
    along = load_index(read)[dim]
    place = _dim_stored_at(along, attrs)
    assert place is not None
    known = {**env, stack: stack}
    sums: list[tuple[_Run, Value]] = []
    for run in runs[stack]:
        box = {along.attr: Range(const(run.start, "int64"), const(run.stop, "int64"))}
        moved = in_box(read, box)
        index = load_index(moved)
        source = element(run.stack, index if run.is_whole else _without(index, dim))
        term = substitute(over_values(in_box(body, box), known), {moved: source})
        shape = list(attrs.shape)
        shape[place] = const(run.stop - run.start, "int64")
        store = Store(attrs.store.place, term)
        extents = box_extents(attrs.extents, box)
        sums.append((run, emit_loop(g, extents, [store], shape=shape)))

    def secondary(*p: Expr) -> Expr:
        made: Expr | None = None
        for run, value in reversed(sums):
            inner = [*p[:place], p[place] - run.start, *p[place + 1 :]]
            part = element(value, inner)
            made = part if made is None else select(p[place] < run.stop, part, made)
        assert made is not None
        return made

    return emit_map(g, attrs.shape, secondary)

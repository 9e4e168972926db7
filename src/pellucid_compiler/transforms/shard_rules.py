"""The rules of one node: in which ways the processes of a mesh dim may share its work.

Along one dim of a mesh of processes, a value is replicated (None), split along a dim
(``Split``; an operand also with rows of its neighbours, ``Window``), or still to be
combined (``Joined``). Sharding an axis of a loop splits the
operands that the axis indexes, replicates the others, and splits the result or leaves
it to be combined; a body that is linear in operands passes on their partial sums. No op
is named here. Called by ``shard.py``, which combines the rules of a Graph's nodes. Read
next: ir/primitives/loop.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pellucid_compiler.ir.dtypes import (
    ITEMSIZE,
    is_float,
    is_integer,
    stored_dtype,
)
from pellucid_compiler.ir.expr import LOADS, Expr, is_loaded, load_fill, load_index
from pellucid_compiler.ir.graph import Node
from pellucid_compiler.ir.primitives import LIBRARY, LOOP, RESHAPE, ROUTINES
from pellucid_compiler.ir.sizes import shape_value, size_value
from pellucid_compiler.ir.traversal import uses_axis, walk
from pellucid_compiler.transforms.shard_windows import Range, window_ranges


class Split(NamedTuple):
    """Each process has a part along the dim."""

    dim: int


class Joined(NamedTuple):
    """The value is the combination of the processes' values."""

    combine: str


class Window(NamedTuple):
    """Each process has its part along the dim, and the rows around it that it reads:
    its range of the whole's ``size`` rows.
    """

    dim: int
    size: int
    ranges: tuple[Range, ...]


State = Split | Joined | Window | None

_REDUCES: Final = ("sum", "prod", "max", "min", "and", "or")


class Strategy(NamedTuple):
    """One way to share a node's work: the required states of the operands, and the
    states of the results.

    ``axis``: the loop axis that is sharded; None if sizes stay whole. ``dim``: for a
    reshape, the dim of the result that is split. ``owned``: an operand that is split
    along a dim with loaded indices: the rank that owns the element supplies it.
    ``step``: the states of a scan's step, and the strategies of its nodes.
    """

    needs: tuple[State, ...]
    results: tuple[State, ...]
    axis: int | None = None
    dim: int | None = None
    owned: tuple[int, int] | None = None
    step: tuple[Mapping[int, State], tuple[Strategy, ...]] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the processes do different work."""
        return any(state is not None for state in (*self.needs, *self.results))


def loop_bodies(attrs: Any) -> list[Expr]:
    """What a loop computes at each point, indices of stores among it."""
    found = [body for store in attrs.stores for body in (store.body, *store.place)]
    return found if attrs.payload is None else [*found, attrs.payload]


def _reads(e: Expr, axis: int) -> bool:
    """Whether the axis's index itself, not only an element at it, is a value in e."""
    if e.op == "axis":
        return bool(e.attr == axis)
    if e.op in LOADS:
        inside = [i for i in load_index(e) if is_loaded(i)]
        fill = load_fill(e)
        return any(_reads(i, axis) for i in inside) or (
            fill is not None and _reads(fill, axis)
        )
    return any(_reads(argument, axis) for argument in e.args)


def is_axis(index: Expr, axis: int) -> bool:
    return index.op == "axis" and index.attr == axis


def _split_needs(
    node: Node, axis: int, env: Mapping[str, Any], ranks: int
) -> dict[int, State] | None:
    """The required states of the operands if the axis is sharded; None if there is no
    way. ``ranks`` may have windows; if it is 0, a process needs its own elements alone.
    """
    extent = size_value(node.attrs.extents[axis], env)
    needs: dict[int, State] = {}
    for e in walk(*loop_bodies(node.attrs)):
        if e.op not in LOADS:
            continue
        state: State = None
        for dim, index in enumerate(load_index(e)):
            if is_axis(index, axis):
                size = size_value(node.inputs[e.attr].shape[dim], env)
                if state is not None or size != extent:
                    return None
                state = Split(dim)
            elif uses_axis(index, {axis}) and not is_loaded(index):
                ranges = window_ranges(node, e, dim, axis, env, ranks)
                if state is not None or ranges is None:
                    return None
                size = size_value(node.inputs[e.attr].shape[dim], env)
                state = Window(dim, size, ranges)
        known = _of_both(needs.setdefault(e.attr, state), state)
        if known is False:
            return None
        needs[e.attr] = known
    return needs


def _of_both(first: State, second: State) -> State | Literal[False]:
    """What two loads of an operand need; False if they do not agree."""
    if not (isinstance(first, Window) and isinstance(second, Window)):
        return first if first == second else False
    if first.dim != second.dim:
        return False
    pairs = zip(first.ranges, second.ranges, strict=True)
    ranges = [
        (min(a[0], b[0]), max(a[1], b[1])) if a[1] and b[1] else max(a, b)
        for a, b in pairs
    ]
    return Window(first.dim, first.size, tuple(ranges))


def _result(attrs: Any, axis: int) -> State | bool:
    """The state of the result if the axis is sharded; False: there is none."""
    found: set[State | bool] = set()
    for store in attrs.stores:
        at = [dim for dim, index in enumerate(store.place) if is_axis(index, axis)]
        used = [
            dim
            for dim, index in enumerate(store.place)
            if uses_axis(index, {axis}) and not is_loaded(index)
        ]
        if len(at) == 1 and used == at:
            found.add(Split(at[0]))
        elif used or attrs.combine not in _REDUCES:
            found.add(False)
        else:
            found.add(Joined(attrs.combine))
    return found.pop() if len(found) == 1 else False


def reads_number(attrs: Any, axis: int) -> bool:
    """Whether an axis's index is a value in a loop's bodies."""
    return any(_reads(store.body, axis) for store in attrs.stores) or (
        attrs.payload is not None and _reads(attrs.payload, axis)
    )


def _axis_strategies(
    node: Node, env: Mapping[str, Any], ranks: int, is_staged: bool
) -> Iterator[Strategy]:
    attrs = node.attrs
    for axis in range(len(attrs.extents)):
        if not is_staged and reads_number(attrs, axis):
            continue
        result = _result(attrs, axis)
        may_have_windows = is_staged and isinstance(result, Split)
        needs = _split_needs(node, axis, env, ranks if may_have_windows else 0)
        if needs is None or result is False:
            continue
        assert not isinstance(result, bool)
        if attrs.init is not None:
            if not isinstance(result, Split):
                continue
            needs[attrs.init] = result
        states = tuple(needs.get(k) for k in range(len(node.inputs)))
        yield Strategy(states, (result,), axis)


class _Linearity(NamedTuple):
    """The operands that an expression reads, and the sets of operands in which it is
    linear, without a constant term, while the others are constant.
    """

    reads: frozenset[int]
    sets: frozenset[frozenset[int]] = frozenset()
    is_zero: bool = False


def _linearity(e: Expr, known: dict[int, _Linearity]) -> _Linearity:
    """The linearity of an expression; ``known`` has that of its parts, by identity."""
    if id(e) not in known:
        known[id(e)] = _linearity_of(e, known)
    return known[id(e)]


def _linearity_of(e: Expr, known: dict[int, _Linearity]) -> _Linearity:
    if e.op in LOADS:
        indices = [_linearity(index, known).reads for index in load_index(e)]
        places = frozenset().union(*indices)
        fill, own = load_fill(e), frozenset({e.attr})
        is_padded = fill is not None and not _linearity(fill, known).is_zero
        is_constant = is_padded or e.dtype == "bool" or e.attr in places
        sets = set() if is_constant else {own}
        return _Linearity(own | places, frozenset(sets))
    if e.op == "const" and not isinstance(e.attr, str) and e.attr == 0:
        return _Linearity(frozenset(), is_zero=True)
    parts = [_linearity(argument, known) for argument in e.args]
    if e.op == "with_partials" or (e.op == "cast" and _is_linear_cast(e)):
        return parts[0]
    reads = frozenset().union(*(part.reads for part in parts))
    return _Linearity(reads, frozenset(_linear_sets(e.op, parts)))


def _is_linear_cast(e: Expr) -> bool:
    """Floats are rounded as in any sum; integers wrap, unless the dtype is wider."""
    source, target = e.args[0].dtype, e.dtype
    if is_float(source) or not is_integer(source):
        return is_float(source) and is_float(target)
    sizes = [ITEMSIZE[stored_dtype(dtype)] for dtype in (source, target)]
    return is_integer(target) and sizes[1] <= sizes[0]


def _linear_sets(op: str, parts: list[_Linearity]) -> Iterable[frozenset[int]]:
    """The sets of operands in which an op of such arguments is linear."""
    if op in ("add", "sub"):
        return _jointly(parts)
    if op == "neg":
        return parts[0].sets
    if op == "mul" and len(parts) == 2:
        first, second = parts
        return _beside(first.sets, second) + _beside(second.sets, first)
    if op == "div":
        return _beside(parts[0].sets, parts[1])
    if op == "select":
        return _beside(_jointly(parts[1:]), parts[0])
    return ()


def _beside(
    sets: Iterable[frozenset[int]], constant: _Linearity
) -> list[frozenset[int]]:
    """The sets of which another argument is independent."""
    return [s for s in sets if not (constant.is_zero or s & constant.reads)]


def _jointly(parts: Iterable[_Linearity]) -> list[frozenset[int]]:
    """The sets in which all parts are linear, or zero; none if all are zero."""
    terms = [part for part in parts if not part.is_zero]
    if not terms:
        return []
    found: set[frozenset[int]] = {frozenset()}
    reads: frozenset[int] = frozenset()
    for part in terms:
        found = {
            s | own for s in found for own in part.sets if s & part.reads == own & reads
        }
        reads |= part.reads
    return list(found)


def _linear_strategies(node: Node) -> Iterator[Strategy]:
    attrs = node.attrs
    if attrs.combine not in ("assign", "sum") or attrs.init is not None:
        return
    known: dict[int, _Linearity] = {}
    bodies = [_linearity(store.body, known) for store in attrs.stores]
    if any(body.is_zero for body in bodies):
        return
    for chosen in sorted(_jointly(bodies), key=lambda s: (len(s), sorted(s))):
        states = tuple(
            Joined("sum") if k in chosen else None for k in range(len(node.inputs))
        )
        yield Strategy(states, (Joined("sum"),))


def _owner_strategies(node: Node) -> Iterator[Strategy]:
    attrs = node.attrs
    if attrs.combine not in ("assign", "sum") or attrs.init is not None:
        return
    known: dict[int, _Linearity] = {}
    bodies = [_linearity(store.body, known) for store in attrs.stores]
    found = [e for e in walk(*loop_bodies(attrs)) if e.op in LOADS]
    for operand in sorted({e.attr for e in found}):
        own = [e for e in found if e.attr == operand]
        if any(e.op != "load" for e in own):
            continue
        alone = frozenset({operand})
        if not all(alone in body.sets for body in bodies):
            continue
        for dim in range(node.inputs[operand].rank):
            if all(is_loaded(load_index(e)[dim]) for e in own):
                needs: list[State] = [None] * len(node.inputs)
                needs[operand] = Split(dim)
                yield Strategy(tuple(needs), (Joined("sum"),), owned=(operand, dim))


def _groups(
    before: Sequence[int], after: Sequence[int]
) -> Iterator[tuple[range, range]]:
    """Runs of dims with equal products. The outermost dim of a run may be sharded."""
    i = j = 0
    while i < len(before) or j < len(after):
        start, first = i, j
        left = right = 1
        while True:
            has_both = i > start and j > first
            if left == right and left > 0 and (has_both or left > 1):
                break
            if (left <= right or j == len(after)) and i < len(before):
                left *= before[i]
                i += 1
            elif j < len(after):
                right *= after[j]
                j += 1
            else:
                break
        yield range(start, i), range(first, j)


def _reshape_strategies(
    node: Node, env: Mapping[str, Any], ranks: int
) -> Iterator[Strategy]:
    (value,) = node.inputs
    before = shape_value(value.shape, env)
    after = shape_value(node.attrs.shape, env)
    if value.dtype != "bool":
        yield Strategy((Joined("sum"),), (Joined("sum"),))
    for merged, parted in _groups(before, after):
        sources = [dim for dim in merged if before[dim] != 1] or list(merged)
        targets = [dim for dim in parted if after[dim] != 1] or list(parted)
        if not sources or not targets:
            continue
        source, target = sources[0], targets[0]
        is_same = before[source] == after[target]
        if is_same or (before[source] % ranks == 0 and after[target] % ranks == 0):
            yield Strategy((Split(source),), (Split(target),), dim=target)


def _library_strategies(node: Node, env: Mapping[str, Any]) -> Iterator[Strategy]:
    """A routine's examples may be shared: its leading dims, which broadcast."""
    core = ROUTINES[node.attrs.routine].core_dims(node.attrs.options)
    leading = [v.rank - n for v, n in zip(node.inputs, core, strict=True)]
    shapes = [shape_value(v.shape, env) for v in node.inputs]
    for dim in range(most := max(leading)):
        places = [dim - (most - count) for count in leading]
        sizes = [
            shape[k] if k >= 0 else 1 for shape, k in zip(shapes, places, strict=True)
        ]
        needs = tuple(
            Split(k) if size == max(sizes) and k >= 0 else None
            for k, size in zip(places, sizes, strict=True)
        )
        yield Strategy(needs, (Split(dim),) * len(node.outputs))


def strategies(
    node: Node, env: Mapping[str, Any], ranks: int, is_staged: bool = False
) -> list[Strategy]:
    """Every way in which so many ranks can run a node without communication. In stages
    the offset of a part is available, so that indices of axes are those of the whole.
    """
    found = [Strategy((None,) * len(node.inputs), (None,) * len(node.outputs))]
    if node.primitive is LOOP:
        found += [
            *_axis_strategies(node, env, ranks, is_staged),
            *_linear_strategies(node),
        ]
        found += _owner_strategies(node) if is_staged else ()
    elif node.primitive is RESHAPE:
        found += _reshape_strategies(node, env, ranks)
    elif node.primitive is LIBRARY and not is_staged:
        found += _library_strategies(node, env)
    return found

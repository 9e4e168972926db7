"""Declared ops as the ops that their traced Graphs consist of.

A Graph says what an op computes by loops: each element of a result from elements at
computed places. Here a loop runs as ops on whole tensors. Every axis is a dim; a load
is a view (``permute``, ``slice``, ``unsqueeze``) or, at places that no view shows,
``index``; a loop with more axes than its result sums over them, and a contraction is
``mm``, ``mv`` or ``bmm``; what is stored at computed places is put there by
``scatter``, ``index_add`` and their kin where one dim alone is computed, else by
``index_put``. Of derivatives a scan runs step by step, a library routine as the op that
calls it. So no op needs a formula of its own to be brought to Core ATen, and a
derivative that PyTorch has no name for is seen as ops of tensors. Used by core_aten.py
and derivatives.py; the same for single elements is in emitted.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import _C, Tensor
from pellucid._C._runtime.gradients import overload_of
from pellucid._decomp.call import Unread
from pellucid._decomp.emitted import (
    by_number,
    chosen,
    meaning,
    quotient_of,
    wide_scalar,
)
from pellucid._decomp.registry import unseen
from pellucid._ops import OpOverload, ops

if TYPE_CHECKING:
    from pellucid_compiler.declare.key import Call
    from pellucid_compiler.ir.expr import Expr
    from pellucid_compiler.ir.graph import Graph, Node, Value
    from pellucid_compiler.ir.primitives import LibraryAttrs, LoopAttrs, ScanAttrs

aten = ops.aten
_MOST_STEPS = 256
_LONGEST_SCAN = 1024


@dataclass
class _StandIn:
    """What specialisation asks of a tensor."""

    tensor: Tensor
    dtype: str
    ndim: int
    shape: tuple[int, ...]


def run_graph(op: Any, args: Sequence[Any], kwargs: Any) -> list[Tensor] | None:
    """What ``op`` gives, by the ops that its Graph consists of; None where the Graph
    calls a library, or scans elements, or has many steps. A recurrent layer, with a
    product of matrices in every step, runs step by step.
    """
    from pellucid_compiler.declare.key import bind_arguments

    graph, call = graph_of(op, args, kwargs)
    if not is_expressible(graph, with_layers=True):
        return None
    if not _numbers_are_allowed(graph, call.env) or not _is_short(graph, call.env):
        return None
    tensors = [stand_in.tensor for stand_in in call.tensors]
    names = [a.name for a in op.schema.arguments]
    given = bind_arguments(op.schema, args, kwargs)
    device = tensors[0].device if tensors else None
    if "device" in names:
        device = given[names.index("device")] or device
    return results_of(graph, tensors, call.env, device)


def derivative_by_graph(op: OpOverload) -> Callable[[Any], list[Tensor]] | None:
    """A function of the derivative op's arguments that gives what it gives, by the ops
    that its Graph consists of; None where they do not express it.
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.ir.interpret import bind_sizes
    from pellucid_compiler.lower.registers import SizeSource
    from pellucid_compiler.specialise.answer import resolve
    from pellucid_compiler.specialise.pointwise import PointwiseOp

    found = resolve(_C._derivative_origin(op.name()), None)
    _, forward, *_ = _C._derived_from(op.name())
    restores = any(a.name == "dim" for a in forward._schema.arguments)
    graph = found.graph  # without operands nothing says the device
    if isinstance(found, PointwiseOp) or not graph.inputs:
        return None
    if not is_expressible(graph, with_calls=True):
        return None

    def run(args: tuple[Any, ...]) -> list[Tensor]:
        inputs = [_argument(args, p.argument, p.element) for p in found.places]
        env = {
            name: inputs[source.position].shape[source.dim]
            if isinstance(source, SizeSource)
            else _argument(args, source.argument, source.element)
            for name, source in found.sources.items()
        }
        for value, tensor in zip(found.graph.inputs, inputs, strict=True):
            bind_sizes(value, tensor.shape, env)
        return results_of(found.graph, inputs, env, inputs[0].device, restores)

    return run


def _argument(args: tuple[Any, ...], number: int, element: int) -> Any:
    return args[number] if element < 0 else args[number][element]


def graph_of(op: Any, args: Sequence[Any], kwargs: Any) -> tuple[Graph, Call]:
    """The Graph of a declared op for a call, and the call taken apart."""
    from pellucid_compiler.declare.key import bind_arguments, specialise

    given = bind_arguments(op.schema, args, kwargs)
    call = specialise(op.schema, [_in_key(v) for v in given], {}, op.options.numbers)
    return op.trace(call.key, call.env).graph, call


def _in_key(value: Any) -> Any:
    """An argument as specialisation takes it."""
    if isinstance(value, Tensor):
        return _StandIn(value, _name(value.dtype), value.dim(), tuple(value.shape))
    if isinstance(value, (list, tuple)):
        return [_in_key(item) for item in value]
    if isinstance(value, pellucid.dtype):
        return _name(value)
    is_place = isinstance(
        value, (pellucid.device, pellucid.layout, pellucid.memory_format)
    )
    return None if is_place else value


def _name(dtype: pellucid.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def results_of(
    graph: Graph,
    inputs: Sequence[Tensor],
    env: dict[str, Any],
    device: Any,
    restores: bool = True,
) -> list[Tensor]:
    """The outputs of an expressible Graph; ``env``: sizes and numbers by name.
    ``restores``: a scalar is given the dims of what it meets, as the result of a
    reduction over named dims is; else it broadcasts.
    """
    from pellucid_compiler.ir.kinds import has_plain_store
    from pellucid_compiler.ir.moving import last_to_compute
    from pellucid_compiler.ir.primitives import CALL, LIBRARY, RESHAPE, SCAN

    last = last_to_compute(graph)
    values: dict[Value, Tensor] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        given = [values[v] for v in node.inputs]
        if node.primitive is CALL:
            found = results_of(node.attrs.body, given, env, device, restores)
        elif node.primitive is SCAN:
            found = _scanned(node.attrs, given, env, device)
        elif node.primitive is LIBRARY:
            found = _called(node.attrs, given, env)
        elif node.primitive is RESHAPE:
            found = [given[0].reshape([_size(n, env) for n in node.attrs.shape])]
        else:
            is_plain = has_plain_store(node.attrs)
            kind = _Loop if is_plain else _Puts
            run = kind(node, given, env, device, restores, is_last=node is last)
            found = [run.result()]
        values.update(zip(node.outputs, found, strict=True))
    return [values[v] for v in graph.outputs]


def _scanned(
    attrs: ScanAttrs, given: list[Tensor], env: dict[str, Any], device: Any
) -> list[Tensor]:
    """A recurrence step by step, what the steps give stacked along a new dim. `Unread`
    for one of many steps, which nobody would read.
    """
    length = _size(attrs.length, env)
    if not 0 < length <= _LONGEST_SCAN:
        raise Unread("sequence")
    end = len(given) - attrs.num_constants
    carries, sequences = given[: attrs.num_carries], given[attrs.num_carries : end]
    made = []
    for t in range(length)[:: -1 if attrs.reverse else 1]:
        at_time = [aten.select.int(x, 0, t) for x in sequences]
        results = results_of(
            attrs.step, [*carries, *at_time, *given[end:]], env, device
        )
        carries = results[: attrs.num_carries]
        made.append(results)
    ordered = made[::-1] if attrs.reverse else made
    return [aten.stack(list(values)) for values in zip(*ordered, strict=True)]


def _called(
    attrs: LibraryAttrs, given: list[Tensor], env: dict[str, Any]
) -> list[Tensor]:
    from pellucid_compiler.ir.expr import Expr

    name = _op_of_routine(attrs)
    assert name is not None
    options = {
        key: _size(value, env) if isinstance(value, Expr) else value
        for key, value in attrs.options
    }
    found = overload_of(name)(*given, **options)
    return [found] if isinstance(found, Tensor) else list(found)


def _op_of_routine(attrs: LibraryAttrs) -> str | None:
    """The op that is one call of a library routine with the same options, by its name:
    ``_linalg_svd`` calls ``svd``; None if there is none.
    """
    from pellucid_compiler.declare import REGISTRY

    options = {name for name, _ in attrs.options}
    for name in (f"_linalg_{attrs.routine}", attrs.routine):
        op = REGISTRY.get(name)
        if op is not None and options <= {a.name for a in op.schema.arguments}:
            return name
    return None


def _size(e: Expr, env: dict[str, Any]) -> Any:
    from pellucid_compiler.ir.sizes import size_value

    return size_value(e, env)


def _is_short(graph: Graph, env: dict[str, Any]) -> bool:
    """Whether what runs step by step has a few steps."""
    from pellucid_compiler.ir.primitives import SCAN

    lengths = [n.attrs.length for n in graph.nodes if n.primitive is SCAN]
    return all(0 < _size(length, env) <= _LONGEST_SCAN for length in lengths)


def _is_layer(attrs: ScanAttrs) -> bool:
    """Whether a scan has a product of matrices in every step."""
    from pellucid_compiler.ir.kinds import kind_of
    from pellucid_compiler.ir.primitives import LOOP

    return any(
        node.primitive is LOOP and kind_of(node) == "contraction"
        for node in attrs.step.nodes
    )


def is_expressible(
    graph: Graph, *, with_calls: bool = False, with_layers: bool = False
) -> bool:
    """Whether every node is a reshape or a loop that ops on whole tensors compute;
    ``with_calls``: or a scan, or a routine that an op calls; ``with_layers``: or a scan
    with a product in every step.
    """
    from pellucid_compiler.ir.expr import walk
    from pellucid_compiler.ir.kinds import has_plain_store, kind_of
    from pellucid_compiler.ir.primitives import CALL, LIBRARY, LOOP, RESHAPE, SCAN

    count = 0
    for node in graph.nodes:
        attrs = node.attrs
        if node.primitive is CALL:
            if not is_expressible(
                attrs.body, with_calls=with_calls, with_layers=with_layers
            ):
                return False
        elif node.primitive is LOOP:
            if attrs.payload is not None:
                return False
            is_plain = has_plain_store(attrs)
            if not is_plain and not _can_put(attrs):
                return False
            stores = attrs.stores
            steps = walk(*(e for s in stores for e in (s.body, *s.place)))
            count += len(steps)
            if not all(map(_is_known, steps)) or count > _MOST_STEPS:
                return False
            if is_plain and kind_of(node) == "contraction" and _factors(node) is None:
                return False
        elif node.primitive is SCAN:
            if not with_calls and not (with_layers and _is_layer(attrs)):
                return False
            if not is_expressible(attrs.step, with_calls=with_calls):
                return False
        elif node.primitive is LIBRARY:
            name = _op_of_routine(attrs)
            if not with_calls or name is None or not _gives(name, len(node.outputs)):
                return False
        elif node.primitive is not RESHAPE:
            return False
    return True


def _gives(name: str, count: int) -> bool:
    from pellucid_compiler.declare import REGISTRY

    return len(REGISTRY[name].schema.returns) == count


def _can_put(attrs: LoopAttrs) -> bool:
    """Whether ``index_put`` or ``scatter_reduce`` stores as the loop does."""
    if attrs.combine in _SCATTERED:
        return len(attrs.stores) == 1 and not attrs.stores[0].drop
    drops = any(s.drop for s in attrs.stores)
    return attrs.combine in ("sum", "assign") and (
        not drops or (attrs.combine == "sum" and _places_all(attrs))
    )


def _places_all(attrs: LoopAttrs) -> bool:
    """Whether no axis is summed over: each one is in the places."""
    from pellucid_compiler.ir.expr import axes_of

    count = len(attrs.extents)
    return all(len(set(axes_of(*s.place))) == count for s in attrs.stores)


def _is_known(e: Expr) -> bool:
    from pellucid_compiler.ir.expr import LEAVES

    is_leaf = e.op in (*LEAVES, "const", "cast", "with_partials", "select")
    return is_leaf or meaning(e.op) is not None


def _numbers_are_allowed(graph: Graph, env: dict[str, Any]) -> bool:
    """Whether what the Graph requires of numbers holds; sizes were checked by the call
    that is taken apart.
    """
    from pellucid_compiler.ir.expr import symbols

    conditions = [r.condition for r in graph.requirements]
    of_numbers = [
        c for c in conditions if all("." not in str(s.attr) for s in symbols(c))
    ]
    return all(_size(c, env) for c in of_numbers)


def _factors(node: Node) -> tuple[Expr, Expr] | None:
    """The operands of a contraction that is one product of matrices: each axis that is
    summed is one of both.
    """
    from pellucid_compiler.ir.expr import uses_axis

    attrs = node.attrs
    body = attrs.store.body
    if body.op != "mul":
        return None
    first, second = body.args
    stored = [i.attr for i in attrs.store.place if i.op == "axis"]
    summed = [a for a in range(len(attrs.extents)) if a not in stored]
    in_both = all(uses_axis(first, {a}) and uses_axis(second, {a}) for a in summed)
    return (first, second) if in_both and first.dtype == second.dtype else None


def _dtype(e: Expr) -> pellucid.dtype:
    """That of a tensor of its values: a number's is as wide as Python's."""
    from pellucid_compiler.ir.dtypes import arithmetic_dtype

    name = arithmetic_dtype(e.dtype) if e.dtype.startswith("weak") else e.dtype
    found: pellucid.dtype = getattr(pellucid, name)
    return found


def _uncast(e: Expr) -> Expr:
    while e.op == "cast":
        e = e.args[0]
    return e


class _Loop:
    """One loop, whose values have a dim for each axis, of size 1 where they do not vary
    along it. Axes of the result are at its dims; those that the loop combines over are
    at its dims of size 1, or the last ones.
    """

    def __init__(
        self,
        node: Node,
        operands: list[Tensor],
        env: dict[str, Any],
        device: Any,
        restores: bool,
        *,
        is_last: bool,
    ) -> None:
        from pellucid_compiler.ir.expr import checked_loads
        from pellucid_compiler.ir.kinds import kind_of

        self.node, self.attrs = node, node.attrs
        self.operands, self.env, self.device = operands, env, device
        self.values: dict[Expr, Any] = {}
        self.is_product = kind_of(node) == "contraction"
        self.restores = restores or self.is_product
        bodies = [store.body for store in self.attrs.stores]
        self.certain = set().union(*map(checked_loads, bodies))
        # What the Graph ends with is shown as `div`; a reciprocal that more is computed
        # of stays one, as kernels have it.
        self.ending = _uncast(self.attrs.store.body) if is_last else None
        self.place_axes()

    def place_axes(self) -> None:
        """Which dim each axis is."""
        place = self.attrs.store.place
        self.dims = {i.attr: d for d, i in enumerate(place) if i.op == "axis"}
        count = len(self.attrs.extents)
        self.combined = [a for a in range(count) if a not in self.dims]
        free = [d for d, i in enumerate(place) if i.op != "axis"]
        self.keeps_dims = bool(self.combined) and len(free) == len(self.combined)
        if not self.keeps_dims:
            free = list(range(len(place), len(place) + len(self.combined)))
        self.dims.update(zip(self.combined, free, strict=True))
        self.rank = max(len(place), *(d + 1 for d in free), 0)
        order = self._order_of_operand()
        if order:
            self.dims = {a: d for d, a in enumerate(order)}

    def _order_of_operand(self) -> list[int]:
        """The axes in the order of the operand's dims, where one is reduced as it is;
        else none.
        """
        body = _uncast(self.attrs.store.body)
        if body.op != "load" or self.keeps_dims or not self.combined:
            return []
        order = [i.attr for i in body.args if i.op == "axis"]
        kept = [a for a in order if a not in self.combined]
        stored = [i.attr for i in self.attrs.store.place if i.op == "axis"]
        is_all = len(order) == len(body.args) == len(set(order)) == self.rank
        return order if is_all and kept == stored else []

    def result(self) -> Tensor:
        """The loop's."""
        dtype = getattr(pellucid, self.attrs.dtype)
        chosen_place = None if self.is_product else self._of_one_place()
        if self.is_product:
            found = self._product()
        elif chosen_place is not None:
            found = chosen_place
        else:
            value = self.value(self.attrs.store.body)
            if not isinstance(value, Tensor):
                shape = [_size(n, self.env) for n in self.attrs.shape]
                full: Tensor = aten.full(shape, value, dtype=dtype, device=self.device)
                return full
            found = self._expanded(value)
            if self.combined:
                found = self._reduced(found)
        return found if found.dtype is dtype else found.to(dtype)

    def extent(self, number: int) -> Any:
        """How many points an axis has."""
        return _size(self.attrs.extents[number], self.env)

    def zeros(self) -> Tensor:
        """Of the result's shape and dtype."""
        shape = [_size(n, self.env) for n in self.attrs.shape]
        dtype = getattr(pellucid, self.attrs.dtype)
        like = next((t for t in self.operands if t.dtype is dtype), None)
        if like is not None:
            made: Tensor = aten.new_zeros(like, shape)
            return made
        filled: Tensor = aten.full(shape, 0, dtype=dtype, device=self.device)
        return filled

    # ------------------------------------------------------------------ results

    def _of_one_place(self) -> Tensor | None:
        """By ``scatter``, where all elements along an axis are 0 but the one at a
        loaded place: ``value if axis == index[...] else 0``.
        """
        from pellucid_compiler.ir.expr import is_const, uses_axis

        body = self.attrs.store.body
        if body.op != "select" or self.combined or not is_const(body.args[2], 0):
            return None
        condition, value, _ = body.args
        if condition.op != "eq" or condition.args[0].op != "axis":
            return None
        number, index = condition.args[0].attr, condition.args[1]
        if index.op != "load" or any(uses_axis(e, {number}) for e in (index, value)):
            return None
        places, source = self.value(index), self.value(value)
        if not isinstance(source, Tensor):
            return None
        if self.rank == 1:  # an element's place
            places, source = (_of_rank_one(t) for t in (places, source))
        once = [1] * self.rank
        for a, d in self.dims.items():
            once[d] = 1 if a == number else self.extent(a)
        dim = self.dims[number]
        found: Tensor = aten.scatter.src(
            self.zeros(), dim, _as_long(_of_size(places, once)), _of_size(source, once)
        )
        return found

    def _expanded(self, value: Tensor) -> Tensor:
        """At every point, where the body is the same at several."""
        from pellucid_compiler.ir.expr import loads, uses_axis

        body = self.attrs.store.body
        varies = all(uses_axis(body, {a}) for a in self.dims)
        if varies and not any(_is_broadcast(i) for e in loads(body) for i in e.args):
            return value
        extents = [1] * self.rank
        for a, d in self.dims.items():
            extents[d] = self.extent(a)
        return value if tuple(value.shape) == tuple(extents) else value.expand(extents)

    def _reduced(self, found: Tensor) -> Tensor:
        """Combined over the axes that the result has not; kept dims of size 1 are
        combined already.
        """
        dims = sorted(self.dims[a] for a in self.combined)
        if self.keeps_dims:
            dims = [d for d in dims if found.shape[d] != 1]
        combine = _COMBINED[self.attrs.combine]
        return combine(found, dims, self.keeps_dims) if dims else found

    def _product(self) -> Tensor:
        """By ``mm``, ``mv`` or ``bmm``: batch axes are those of both factors."""
        from pellucid_compiler.ir.expr import axes_of

        factors = _factors(self.node)
        assert factors is not None
        first, second = ({self.dims[a] for a in axes_of(f)} for f in factors)
        summed = sorted(self.dims[a] for a in self.combined)
        batch = sorted((first & second).difference(summed))
        rows, columns = sorted(first - second), sorted(second - first)
        left, right = factors
        if [*rows, *columns] != sorted([*rows, *columns]):
            left, right, rows, columns = right, left, columns, rows
        if max(map(len, (batch, rows, columns))) > 1 or len(summed) != 1:
            found = self._product_of_many(left, right, batch, rows, summed, columns)
        elif batch:
            found = aten.bmm(
                self._factor(left, [batch, rows, summed]),
                self._factor(right, [batch, summed, columns]),
            )
            if not rows or not columns:
                sizes = zip(found.shape, (batch, rows, columns), strict=True)
                found = aten.view(found, [n for n, dims in sizes if dims])
        elif rows and columns:
            found = aten.mm(
                self._factor(left, [rows, summed]),
                self._factor(right, [summed, columns]),
            )
        elif rows:
            found = aten.mv(
                self._factor(left, [rows, summed]), self._factor(right, [summed])
            )
        elif columns:
            found = aten.mv(
                self._factor(right, [columns, summed]), self._factor(left, [summed])
            )
        else:
            found = aten.dot(
                self._factor(left, [summed]), self._factor(right, [summed])
            )
        return self._placed(found, [*batch, *rows, *columns])

    def _factor(self, e: Expr, groups: list[list[int]]) -> Tensor:
        """A factor with one dim for each group of one dim, or of none."""
        order = [d for group in groups for d in group]
        operand = self._plain(e)
        if operand is None or len(order) != len(groups):
            return _matrices(self.value(e), groups)
        tensor, dims = operand
        return _transposed(tensor, [dims.index(d) for d in order])

    def _plain(self, e: Expr) -> tuple[Tensor, list[int]] | None:
        """(operand, dim of each of its own) of a load of whole dims."""
        if e.op != "load":
            return None
        sizes = self.node.inputs[e.attr].shape
        pieces = [
            self._piece(i, size, e) for i, size in zip(e.args, sizes, strict=True)
        ]
        if any(p is None or p.axis is None or p.bounds is not None for p in pieces):
            return None
        dims = [self.dims[p.axis] for p in pieces if p and p.axis is not None]
        return (self.operands[e.attr], dims) if len(dims) == len(set(dims)) else None

    def _product_of_many(
        self,
        left: Expr,
        right: Expr,
        batch: list[int],
        rows: list[int],
        summed: list[int],
        columns: list[int],
    ) -> Tensor:
        """By ``bmm`` of the factors as three dims."""
        first, second = self.value(left), self.value(right)
        product = aten.bmm(
            _matrices(first, [batch, rows, summed]),
            _matrices(second, [batch, summed, columns]),
        )
        sizes = [
            *(first.shape[d] for d in (*batch, *rows)),
            *(second.shape[d] for d in columns),
        ]
        found: Tensor = aten.view(product, sizes)
        return found

    def _placed(self, found: Tensor, made: list[int]) -> Tensor:
        """A product whose dims are ``made`` as the loop's result."""
        if made != sorted(made):
            found = _transposed(found, [made.index(d) for d in sorted(made)])
        place = self.attrs.store.place
        for d in (d for d in range(len(place)) if d not in made):
            found = aten.unsqueeze(found, d)
        extents = [self.extent(i.attr) if i.op == "axis" else 1 for i in place]
        if any(i.op == "axis" and d not in made for d, i in enumerate(place)):
            found = found.expand(extents)
        return found

    # ------------------------------------------------------------------ values

    def value(self, e: Expr) -> Any:
        """A tensor, or a number where ``e`` is one of sizes and numbers alone."""
        if e not in self.values:
            self.values[e] = self._computed(e)
        return self.values[e]

    def _computed(self, e: Expr) -> Any:
        from pellucid_compiler.ir.expr import LOADS, axes_of, is_loaded

        if not is_loaded(e) and not axes_of(e):
            return self._number(e)
        if e.op == "axis":
            return self._axis(e.attr)
        if e.op in LOADS:
            return self._load(e)
        quotient = quotient_of(e) if e is self.ending else None
        name = "div" if quotient else e.op
        operands = [self.value(a) for a in quotient or e.args]
        if e.op == "with_partials":
            return operands[0]
        if name in ("mul", "div") and _is_one(operands[1]):
            return operands[0]
        if name == "mul" and _is_one(operands[0]):
            return operands[1]
        if e.op == "cast":
            dtype, value = _dtype(e), operands[0]
            return value if value.dtype is dtype else value.to(dtype)
        if e.op == "select":
            return self._selected(e, operands)
        found = by_number(name, operands)
        if found is not None:
            return found
        run = meaning(name)
        assert run is not None
        return run(*operands)

    def _number(self, e: Expr) -> Any:
        """Of sizes and numbers; what Python's integers and floats do not compute is
        computed by tensors that nobody sees.
        """
        try:
            return _size(e, self.env)
        except TypeError:
            run = meaning(e.op)
            assert run is not None
            numbers = [self._number(a) for a in e.args]
            with unseen():
                return run(*map(wide_scalar, numbers)).item()

    def _selected(self, e: Expr, operands: list[Any]) -> Any:
        condition, first, second = operands
        if not isinstance(condition, Tensor):
            return first if condition else second
        if not isinstance(first, Tensor) and not isinstance(second, Tensor):
            dtype = _dtype(e)
            first = aten.scalar_tensor(first, dtype=dtype, device=self.device)
        return chosen(condition, first, second)

    def _axis(self, number: int) -> Any:
        """The positions along an axis."""
        shape = [1] * self.rank
        shape[self.dims[number]] = extent = self.extent(number)
        positions = aten.arange.start_step(0, extent, 1, device=self.device)
        return positions if self.rank == 1 else aten.view(positions, shape)

    # ------------------------------------------------------------------ loads

    def _load(self, e: Expr) -> Any:
        """The operand's elements at the places that an expression says."""
        from pellucid_compiler.ir.expr import load_index

        operand: Any = self.operands[e.attr]
        sizes = self.node.inputs[e.attr].shape
        index = load_index(e)
        if not index and self.dims and not self.restores:
            return operand  # it broadcasts
        pieces = [self._piece(i, size, e) for i, size in zip(index, sizes, strict=True)]
        dims = [self.dims[p.axis] for p in pieces if p and p.axis is not None]
        if None in pieces or len(dims) != len(set(dims)):
            return self._gathered(e, operand)
        shown = [p for p in pieces if p is not None]
        keeps_units = len(shown) == self.rank and all(
            p.is_unit or (p.axis is not None and self.dims[p.axis] == d)
            for d, p in enumerate(shown)
        )
        for d in reversed(range(len(shown))):
            if not (keeps_units and shown[d].is_unit):
                operand = shown[d].of(operand, d)
        if keeps_units:
            return operand
        operand = _permuted(operand, [dims.index(d) for d in sorted(dims)])
        for d in range(self.rank):
            if d not in dims:
                operand = aten.unsqueeze(operand, d)
        return operand

    def _piece(self, index: Expr, size: Expr, load: Expr) -> _Piece | None:
        """What an index takes of a dim: one place, or a slice along one axis."""
        from pellucid_compiler.ir.affine import linear_in
        from pellucid_compiler.ir.expr import axes_of, is_const, is_loaded

        if index.op == "axis":
            is_whole = self.attrs.extents[index.attr] is size
            if is_whole or self.extent(index.attr) == _size(size, self.env):
                return _Piece(index.attr)
        if _is_broadcast(index):
            return _Piece(index.args[2].attr)
        if is_const(index, 0) and is_const(size, 1):
            return _Piece(None, 0, is_unit=True)
        if load not in self.certain or is_loaded(index):
            return None
        axes = list(axes_of(index))
        if not axes:
            return _Piece(None, _size(index, self.env))
        parts = linear_in(index, axes[0]) if len(axes) == 1 else None
        if parts is None or parts[0].op != "const" or parts[0].attr < 1:
            return None
        start, step = _size(parts[1], self.env), parts[0].attr
        stop = start + self.extent(axes[0]) * step
        return _Piece(axes[0], start, (start, stop, step))

    def _gathered(self, e: Expr, operand: Tensor) -> Tensor:
        """By ``index``, or by ``gather`` and ``index_select`` along one dim. Where the
        element is not chosen, at the nearest place.
        """
        from pellucid_compiler.ir.expr import load_fill, load_index

        if e in self.certain:
            along = self._along_one_dim(load_index(e), self.node.inputs[e.attr].shape)
            if along is not None and self.rank == operand.dim():
                dim, at = along
                packet = aten.index_select if at.dim() == 1 else aten.gather
                picked: Tensor = packet(operand, dim, at)
                return picked
        places, inside = [], None
        fill = load_fill(e)
        for d, i in enumerate(load_index(e)):
            place = self.value(i)
            if not isinstance(place, Tensor):
                place = aten.scalar_tensor(
                    place, dtype=pellucid.int64, device=self.device
                )
            if e not in self.certain:
                last = operand.shape[d] - 1
                if fill is not None:
                    within = place.ge(0).logical_and(place.le(last))
                    inside = within if inside is None else inside.logical_and(within)
                place = place.clamp(0, last)
            places.append(_as_long(place))
        found: Tensor = aten.index.Tensor(operand, places)
        if fill is None or inside is None:
            return found
        other = self.value(fill)
        result: Tensor = chosen(inside, found, other)
        return result

    def _along_one_dim(
        self, index: Sequence[Expr], sizes: Sequence[Expr]
    ) -> tuple[int, Tensor] | None:
        """(dim, places along it) where an index is the point's own in all other dims:
        the places are a vector, or one for each point.
        """
        if len(index) != self.rank:
            return None
        at = {d: a for a, d in self.dims.items()}
        moved = [
            d for d, i in enumerate(index) if i.op != "axis" or i.attr != at.get(d)
        ]
        if len(moved) != 1:
            return None
        (dim,) = moved
        place = index[dim].args[0] if index[dim].op == "cast" else index[dim]
        if place.op != "load":
            return None
        operand = self.operands[place.attr]
        named = [i.attr if i.op == "axis" else None for i in place.args]
        if named == [at.get(dim)]:
            is_whole = True
        elif named == [at.get(d) for d in range(self.rank)]:
            is_whole = all(
                d == dim or self.extent(at[d]) <= _size(sizes[d], self.env)
                for d in range(self.rank)
            )
        else:
            return None
        extents = [self.extent(a) for a in named if a is not None]
        if not is_whole or tuple(operand.shape) != tuple(extents):
            return None
        return dim, operand


class _Puts(_Loop):
    """A loop that stores at computed places; its axes are the dims, in order."""

    def place_axes(self) -> None:
        """As they come."""
        self.rank = len(self.attrs.extents)
        self.dims = {a: a for a in range(self.rank)}

    def result(self) -> Tensor:
        """Zeros or the operand that is updated, with what is put there."""
        found: Tensor
        if self._covers():
            found = self._values(self.attrs.store, full=True)
            return found
        if self.attrs.init is not None:
            found = self.operands[self.attrs.init]
        else:
            found = self._identity()
        for store in self.attrs.stores:
            found = self._put(found, store)
        return found

    def _identity(self) -> Tensor:
        """What the loop starts from."""
        from pellucid_compiler.ir.primitives.loop import identity

        if self.attrs.combine not in _SCATTERED:
            return self.zeros()
        dtype = getattr(pellucid, self.attrs.dtype)
        shape = [_size(n, self.env) for n in self.attrs.shape]
        value = identity(self.attrs.combine, self.attrs.dtype)
        made: Tensor = aten.full(shape, value, dtype=dtype, device=self.device)
        return made

    def _covers(self) -> bool:
        """Whether the only store writes every element once, each at its own place."""
        attrs = self.attrs
        return (
            attrs.init is None
            and len(attrs.stores) == 1
            and len(attrs.shape) == self.rank
            and all(
                i.op == "axis" and i.attr == d and self.extent(d) == _size(n, self.env)
                for d, (i, n) in enumerate(
                    zip(attrs.store.place, attrs.shape, strict=True)
                )
            )
        )

    def _values(self, store: Any, *, full: bool) -> Any:
        """What a store puts: at every point, or a number where it is one."""
        dtype = getattr(pellucid, self.attrs.dtype)
        value = self.value(store.body)
        if not isinstance(value, Tensor):
            if not full:
                return value
            value = aten.scalar_tensor(value, dtype=dtype, device=self.device)
        value = value if value.dtype is dtype else value.to(dtype)
        return _of_size(value, [self.extent(a) for a in range(self.rank)])

    def _put(self, found: Tensor, store: Any) -> Tensor:
        """By ``scatter``, ``index_add`` and their kin where the places differ from the
        points' own along one dim, else by ``index_put``.
        """
        adds = self.attrs.combine == "sum"
        along = self._along_one_dim(store.place, self.attrs.shape)
        result: Tensor
        if self.attrs.combine in _SCATTERED:
            return self._scatter_reduced(found, store, along)
        if along is None or store.drop:
            value = self._values(store, full=True)
            if store.drop:
                places, value = self._inside(store, value)
            else:
                places = self._places(store)
            result = aten.index_put(found, places, value, adds)
            return result
        dim, index = along
        value = self._values(store, full=adds)
        if index.dim() == 1 and self.rank > 1:
            if not isinstance(value, Tensor):
                result = aten.index_fill.int_Scalar(found, dim, index, value)
            else:
                packet = aten.index_add if adds else aten.index_copy
                result = packet(found, dim, index, value)
        elif not isinstance(value, Tensor):
            result = aten.scatter.value(found, dim, index, value)
        elif adds:
            result = aten.scatter_add(found, dim, index, value)
        else:
            result = aten.scatter.src(found, dim, index, value)
        return result

    def _scatter_reduced(
        self, found: Tensor, store: Any, along: tuple[int, Tensor] | None
    ) -> Tensor:
        """Combined by ``scatter_reduce``; at places of several dims, as of one dim."""
        if self.attrs.dtype == "bool":
            found = found.to(pellucid.uint8)
        value = self._values(store, full=True).to(found.dtype)
        reduce = _SCATTERED[self.attrs.combine]
        if along is not None and along[1].dim() == self.rank:
            result = aten.scatter_reduce.two(found, *along, value, reduce)
        else:
            flat: Any = None
            for i, n in zip(store.place, found.shape, strict=True):
                place = self._place(i).expand(value.shape)
                flat = place if flat is None else flat * n + place
            given = found.reshape([-1]), 0, flat.reshape([-1]), value.reshape([-1])
            result = aten.scatter_reduce.two(*given, reduce)
            result = result.reshape(found.shape)
        dtype = getattr(pellucid, self.attrs.dtype)
        made: Tensor = result if result.dtype is dtype else result.to(dtype)
        return made

    def _inside(self, store: Any, value: Tensor) -> tuple[list[Any], Tensor]:
        """Places beyond the result moved into it, where nothing is added."""
        inside: Any = None
        places = []
        for i, n in zip(store.place, self.attrs.shape, strict=True):
            place, last = self._place(i), _size(n, self.env) - 1
            within = place.ge(0).logical_and(place.le(last))
            inside = within if inside is None else inside.logical_and(within)
            places.append(place.clamp(0, last))
        return places, chosen(inside, value, 0)

    def _places(self, store: Any) -> list[Any]:
        """The indices of ``index_put``, of a point's own places None where the others
        are indices of neighbouring dims.
        """
        from pellucid_compiler.ir.expr import axes_of

        own = [i.attr if i.op == "axis" else None for i in store.place]
        moved = [d for d, a in enumerate(own) if a is None]
        shape = self.attrs.shape
        places = [_without_wrap(i, n) for i, n in zip(store.place, shape, strict=True)]
        if moved and moved == list(range(moved[0], moved[-1] + 1)):
            used = sorted({a for d in moved for a in axes_of(places[d])})
            order = [*own[: moved[0]], *used, *own[moved[-1] + 1 :]]
            is_whole = all(
                a is None or self.extent(a) == _size(n, self.env)
                for a, n in zip(own, shape, strict=True)
            )
            if is_whole and order == list(range(self.rank)) and used:
                first = used[0]
                return [
                    self._block(i, first, len(used)) if d in moved else None
                    for d, i in enumerate(places)
                ]
        return [self._place(i) for i in places]

    def _block(self, index: Expr, first: int, count: int) -> Tensor:
        """An index as a tensor of some neighbouring axes alone."""
        if index.op == "load" and [i.op == "axis" and i.attr for i in index.args] == [
            *range(first, first + count)
        ]:
            operand = self.operands[index.attr]
            if list(operand.shape) == [self.extent(first + k) for k in range(count)]:
                return _as_long(operand)
        place = self._place(index)
        shown: Tensor = aten.view(place, list(place.shape[first : first + count]))
        return shown

    def _place(self, index: Expr) -> Any:
        place = self.value(index)
        if isinstance(place, Tensor):
            return _as_long(place)
        shape = [1] * self.rank
        return aten.full(shape, place, dtype=pellucid.int64, device=self.device)


@dataclass
class _Piece:
    """What a load takes of one dim: ``axis`` runs along ``bounds`` of it, all without;
    no axis: the element ``start``.
    """

    axis: int | None
    start: Any = 0
    bounds: tuple[Any, Any, int] | None = None
    is_unit: bool = False

    def of(self, operand: Tensor, dim: int) -> Tensor:
        """The operand with this piece of a dim."""
        found: Tensor = operand
        if self.is_unit:
            found = aten.squeeze.dim(operand, dim)
        elif self.axis is None:
            found = aten.select.int(operand, dim, self.start)
        elif self.bounds is not None:
            found = aten.slice.Tensor(operand, dim, *self.bounds)
        return found


def _matrices(value: Tensor, groups: list[list[int]]) -> Tensor:
    """As (batch, rows, columns), whose dims are ``groups``; the others have size 1."""
    order = [d for group in groups for d in group]
    sizes = [math.prod(value.shape[d] for d in group) for group in groups]
    order += [d for d in range(value.dim()) if d not in order]
    if order != sorted(order):
        value = aten.permute(value, order)
    return value.reshape(sizes)


def _permuted(x: Tensor, order: list[int]) -> Tensor:
    found: Tensor = x if order == sorted(order) else aten.permute(x, order)
    return found


def _transposed(x: Tensor, order: list[int]) -> Tensor:
    """The dims of a factor in another order; ``t`` and ``transpose`` of matrices."""
    found = x
    if order == [1, 0]:
        found = aten.t(x)
    elif order == [0, 2, 1]:
        found = aten.transpose.int(x, 1, 2)
    elif order != sorted(order):
        found = aten.permute(x, order)
    return found


def _of_size(x: Tensor, size: list[int]) -> Tensor:
    return x if list(x.shape) == size else x.expand(size)


def _of_rank_one(x: Tensor) -> Tensor:
    found: Tensor = x if x.dim() else aten.unsqueeze(x, 0)
    return found


def _as_long(x: Tensor) -> Tensor:
    return x if x.dtype is pellucid.int64 else x.to(pellucid.int64)


def _is_one(value: Any) -> bool:
    return not isinstance(value, Tensor) and value == 1


def _without_wrap(index: Expr, size: Expr) -> Expr:
    """``i`` of ``i + size if i < 0 else i``: indexing counts from the end anyway."""
    from pellucid_compiler.ir.expr import is_const

    if index.op != "select" or index.args[0].op != "lt":
        return index
    condition, wrapped, own = index.args
    is_wrap = (
        condition.args[0] is own
        and is_const(condition.args[1], 0)
        and wrapped.op == "add"
        and wrapped.args[0] is own
        and wrapped.args[1] is size
    )
    return own if is_wrap else index


def _is_broadcast(index: Expr) -> bool:
    """``0 if size == 1 else axis``: dims of size 1 broadcast anyway."""
    from pellucid_compiler.ir.expr import is_const

    return (
        index.op == "select"
        and index.args[0].op == "eq"
        and is_const(index.args[0].args[1], 1)
        and is_const(index.args[1], 0)
        and index.args[2].op == "axis"
    )


def _sum(x: Tensor, dims: list[int], keepdim: bool) -> Any:
    dtype = None if x.is_floating_point() or x.is_complex() else x.dtype
    return aten.sum.dim_IntList(x, dims, keepdim, dtype=dtype)


def _product_of(x: Tensor, dims: list[int], keepdim: bool) -> Any:
    for d in reversed(dims):
        x = aten.prod.dim_int(x, d, keepdim, dtype=x.dtype)
    return x


def _all(x: Tensor, dims: list[int], keepdim: bool) -> Any:
    return aten.logical_not(aten.any.dims(aten.logical_not(x), dims, keepdim))


_SCATTERED = {"prod": "prod", "max": "amax", "min": "amin", "and": "amin", "or": "amax"}
"""What ``scatter_reduce`` calls how a loop combines."""

_COMBINED: dict[str, Callable[[Tensor, list[int], bool], Any]] = {
    "sum": _sum,
    "prod": _product_of,
    "max": aten.amax,
    "min": aten.amin,
    "and": _all,
    "or": aten.any.dims,
}

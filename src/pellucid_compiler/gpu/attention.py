"""The schedule of ``block``: attention and its gradient, without a matrix of scores.

A block of threads takes a tile of rows (queries) and sweeps over the columns (keys) tile
by tile, in order. Tiles of scores are in registers; what a product reads of them goes
through shared memory. The forward form needs one sweep, with an online softmax; the
gradient needs one for the rows' maxima and sums, and two more. If members add along
rows, as the gradients of keys and values do, a block of threads takes all rows of a
head in order, and adds to its own elements of the results.

So the bits depend on the sizes alone. Sums are float32, or float64 of float64. Which
member does what, ``block_roles.py`` finds; elements are computed by the members'
expressions where they are needed. Read next: ``tiles.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.formats import convert, register_type
from pellucid_compiler.codegen.kernel import Block, Kernel
from pellucid_compiler.codegen.lowerings import LOWERINGS
from pellucid_compiler.codegen.schedules.combine import Combine
from pellucid_compiler.gpu.block_roles import Product, Reduction, Roles
from pellucid_compiler.gpu.builder import GpuModule
from pellucid_compiler.gpu.grid import Grid, Shape
from pellucid_compiler.gpu.tiles import (
    SIDE,
    Chunk,
    Sums,
    multiplied,
    own_column,
    own_line,
)
from pellucid_compiler.ir.expr import Expr, cast, sym

MOST_COLUMNS = 128
"""Of tiles of results: sizes of heads."""


def emit_block(module: GpuModule, kernel: Kernel, form: Block, shape: Shape) -> None:
    """Rows over the grid; NotImplementedError for other blocks than attention's."""
    if shape.reduced > MOST_COLUMNS:
        raise NotImplementedError(f"heads of more than {MOST_COLUMNS} features")
    _Attention(module, kernel, Roles(form, len(kernel.outputs)), shape).write()


@dataclass
class _Place:
    """Where elements are computed: a place along classes, what is known there, and the
    reductions of its row."""

    at: dict[int, Value]
    reduced: Callable[[Reduction], Value]
    known: dict[int, Value] = field(default_factory=dict)
    emitters: dict[int, Emitter] = field(default_factory=dict)


class _Attention:
    def __init__(
        self, module: GpuModule, kernel: Kernel, roles: Roles, shape: Shape
    ) -> None:
        self.grid = g = Grid(module, kernel, shape)
        self.roles, self.form, self.f = roles, roles.form, g.function
        products = [
            *roles.scores.values(),
            *roles.averages.values(),
            *roles.gradients.values(),
        ]
        self.dtype = max(product.summed for product in products)  # float64 if any
        self.kind = register_type(self.dtype)
        wide = self.kind.element_bytes == 8
        self.side = 32 if wide else 64
        self.width = shape.reduced
        f, size = self.f, self.kind.element_bytes
        self.left = Chunk.make(f, self.side, self.kind)
        self.right = Chunk.make(f, max(self.side, self.width), self.kind)
        self.tile = f.shared(self.side * (self.side + 1) * size)
        self.kept = {r: f.shared(self.side * 8) for r in roles.reductions}
        self.lines = [own_line(f) + SIDE * i for i in range(self.side // SIDE)]
        self.across = [own_column(f) + SIDE * j for j in range(self.side // SIDE)]
        self.features = [own_column(f) + SIDE * j for j in range(self.width // SIDE)]
        self.params = {
            (number, k): g.uniform.value(sym(f"p{member.first_param + k}", dtype))
            for number, member in enumerate(self.form.members)
            for k, dtype in enumerate(member.kernel.params)
            if member.first_param + k < len(kernel.params)
        }
        self.num_rows = g.named[f"e{roles.rows}"]
        self.num_columns = g.named[f"e{roles.columns}"]
        self.starts: dict[int, Value] = {}
        self.reduced: dict[Reduction, list[Value]] = {}
        self.averages: dict[int, Sums] = {}

    # ------------------------------------------------------------------ the walk

    def write(self) -> None:
        g, f = self.grid, self.f
        parallel = range(self.form.parallel)
        if self.roles.is_in_order:
            f.loop(f.block(), g.count(parallel), f.blocks(), [], self._head)
            return f.ret()
        tiles = f.binary("udiv", self.num_rows + (self.side - 1), f.integer(self.side))

        def rows(task: Value, _: list[Value]) -> None:
            self._start(g.coordinates(f.binary("udiv", task, tiles), parallel))
            self._rows(f.binary("urem", task, tiles) * self.side)

        f.loop(f.block(), g.count(parallel) * tiles, f.blocks(), [], rows)
        return f.ret()

    def _head(self, number: Value, _: list[Value]) -> None:
        """All rows of a point of the parallel classes, in order."""
        g, f = self.grid, self.f
        outer = g.coordinates(number, range(self.form.parallel))
        ordered = range(self.form.parallel, self.roles.rows)

        def point(index: Value, _: list[Value]) -> None:
            at = g.coordinates(index, ordered) if ordered else {}
            self._start({**outer, **at})
            for product in self.roles.gradients.values():
                self._clear(product, at)
            f.loop(0, self.num_rows, self.side, [], lambda row, _: self._rows(row))

        f.loop(0, g.count(ordered), 1, [], point)

    def _start(self, at: dict[int, Value]) -> None:
        """Operands at a place along the classes before the rows."""
        self.starts = {
            value: self._moved(value, self.grid.named[f"d{value}"], at)
            for value in range(len(self.grid.memory))
        }

    def _moved(self, value: int, start: Value, at: Mapping[int, Value]) -> Value:
        for cls in self.form.values[value]:
            if cls in at:
                stride = self.grid.named[f"t{value}_{cls}"]
                start = self.f.offset(start, at[cls] * stride)
        return start

    def _rows(self, row: Value) -> None:
        """A tile of rows: every sweep, then its results."""
        self.row, self.reduced, self.averages = row, {}, {}
        self.row_at = [self._inside(row + line, self.num_rows) for line in self.lines]
        limit = self.num_columns
        if self.form.triangle == self.roles.columns and not self.roles.matrices:
            limit = self.f.minimum(limit, row + self.side)
        for number in range(self.roles.num_sweeps):
            _Sweep(self, number, limit).run()
        self._store_results()

    def _inside(self, place: Value, extent: Value) -> Value:
        """The place, or the last one: every load is inside of its operand."""
        return self.f.minimum(place, extent - 1)

    # ------------------------------------------------------------------ elements

    def element(self, value: int, place: _Place) -> Value:
        """A value's element in its dtype, computed by the members that it is of."""
        if value not in place.known:
            place.known[value] = self._element(value, place)
        return place.known[value]

    def _element(self, value: int, place: _Place) -> Value:
        g, roles = self.grid, self.roles
        if value in roles.bodies:
            member, body = roles.bodies[value]
            own = self.form.members[member]
            dtype = own.kernel.outputs[own.operands.index(value)]
            return self.body(member, cast(body, dtype), place)
        if value not in self.starts or value < roles.num_outputs:
            raise NotImplementedError("a block that reads a product out of place")
        return g.load(g.order.index(value), self._at(value, place))

    def _at(self, value: int, place: _Place) -> Value:
        return self._moved(value, self.starts[value], place.at)

    def body(self, member: int, e: Expr, place: _Place) -> Value:
        """An expression of a member at a place."""
        if member not in place.emitters:

            def leaf(x: Expr) -> Value:
                if x.op == "load":
                    return self.element(self.roles.source(member, x), place)
                name = str(x.attr)
                if name.startswith("p"):
                    return self.params[member, int(name[1:])]
                found = self.roles.reduction(member, x)
                accumulator = found.item.accumulator
                return convert(self.f, place.reduced(found), accumulator, x.dtype)

            place.emitters[member] = Emitter(self.f, 1, leaf)
        return place.emitters[member].value(e)

    def own(self, i: int) -> Callable[[Reduction], Value]:
        """The reductions of one of the thread's rows."""
        return lambda reduction: self.reduced[reduction][i]

    # ------------------------------------------------------------------ results

    def clear_or_add(self, product: Product, column: Value) -> Iterator[_Result]:
        """The thread's elements of a gradient's tile of columns."""
        own = product.along
        for i, line in enumerate(self.lines):
            for j, feature in enumerate(self.features):
                extent = self.grid.named[f"e{own}"]
                inside = (column + line < self.num_columns) & (feature < extent)
                at = {
                    self.roles.columns: self._inside(column + line, self.num_columns),
                    own: self._inside(feature, extent),
                }
                yield _Result(i, j, inside, self._moved(product.result, self.starts[product.result], at))

    def store(self, value: int, where: Value, place: Value, found: Value) -> None:
        g = self.grid
        number, dtype = g.order.index(value), g.kernel.outputs[value]
        self.f.branch(where, lambda: g.store(number, place, found, dtype))

    def _clear(self, product: Product, at: dict[int, Value]) -> None:
        """Zeros, where the sums of a gradient begin."""
        f = self.f
        begins = f.integer(0).equals(0)
        for cls, place in at.items():
            if cls not in self.form.values[product.result]:
                begins = begins & place.equals(0)
        zero = f.constant(0, register_type(self.grid.kernel.outputs[product.result]))

        def tile(column: Value, _: list[Value]) -> None:
            for result in self.clear_or_add(product, column):
                self.store(product.result, result.inside, result.place, zero)

        f.branch(
            begins, lambda: f.loop(0, self.num_columns, self.side, [], tile) and None
        )

    def _store_results(self) -> None:
        """Results by row and feature, or one per row."""
        f, roles = self.f, self.roles
        for value in range(roles.num_outputs):
            features = [c for c in roles.kind(value) if c != roles.rows]
            if value in roles.gradients or value in roles.matrices:
                continue
            for i, line in enumerate(self.lines):
                inside = self.row + line < self.num_rows
                for j, feature in enumerate(self.features if features else [None]):
                    place = _Place({roles.rows: self.row_at[i]}, self.own(i))
                    where = inside
                    if feature is None:
                        where = inside & own_column(f).equals(0)
                    else:
                        extent = self.grid.named[f"e{features[0]}"]
                        place.at[features[0]] = self._inside(feature, extent)
                        where = inside & (feature < extent)
                        for number, sums in self.averages.items():
                            place.known[number] = self.averaged(number, sums[i][j])
                    found = self.element(value, place)
                    self.store(value, where, self._at(value, place), found)

    def averaged(self, value: int, found: Value) -> Value:
        return convert(self.f, found, self.dtype, self.roles.averages[value].dtype)


@dataclass(frozen=True)
class _Result:
    i: int
    j: int
    inside: Value
    place: Value


class _Sweep:
    """One pass of a tile of rows over all columns that it needs."""

    def __init__(self, whole: _Attention, number: int, limit: Value) -> None:
        self.whole, self.limit = whole, limit
        self.f, self.roles = whole.f, whole.roles
        roles = self.roles
        self.reductions = [r for r in roles.reductions if r.sweep == number]
        self.averages = [p for p in roles.averages.values() if p.sweep == number]
        self.gradients = [p for p in roles.gradients.values() if p.sweep == number]
        self.matrices = [v for v in roles.matrices if roles.ready(v) == number]
        self.is_last = number == roles.num_sweeps - 1

    def run(self) -> None:
        whole, f = self.whole, self.f
        lines, columns = len(whole.lines), len(whole.features)
        start: list[Value] = []
        for reduction in self.reductions:
            start += Combine(*_combine(reduction)).identity(f, 1) * lines
        zero = f.constant(0, whole.kind)
        start += [zero] * (lines * columns * len(self.averages))
        found = iter(f.loop(0, self.limit, whole.side, start, self._columns))
        for reduction in self.reductions:
            own = [next(found) for _ in range(lines)]
            whole.reduced[reduction] = [self._whole(reduction, value) for value in own]
        for product in self.averages:
            sums = [[next(found) for _ in range(columns)] for _ in range(lines)]
            whole.averages[product.result] = sums
        if self.roles.gradients and not self.is_last:
            self._keep()

    def _whole(self, reduction: Reduction, value: Value) -> Value:
        """A row's reduction from those of its 16 threads."""
        combine = Combine(*_combine(reduction))
        if not self._is_top(reduction):
            for mask in (8, 4, 2, 1):
                other = self.f.shuffle_xor(value, mask)
                (value,) = combine.step(self.f, [value], [other])
        return combine.result(self.f, [value], None)[0]

    def _is_top(self, reduction: Reduction) -> bool:
        """Whether others scale by it, so that all threads of a row have it."""
        parts = (*self.roles.reductions, *self.roles.averages.values())
        return any(part.top is reduction for part in parts)

    def _keep(self) -> None:
        """The reductions in shared memory, for products that read them of any row."""
        f, whole = self.f, self.whole

        def write() -> None:
            for reduction in self.reductions:
                for line, value in zip(
                    whole.lines, whole.reduced[reduction], strict=True
                ):
                    size = value.type.element_bytes
                    place = f.offset(whole.kept[reduction], line * size)
                    f.write_shared(value, place)

        f.branch(own_column(f).equals(0), write)

    # ------------------------------------------------------------------ one tile

    def _columns(self, column: Value, carried: list[Value]) -> list[Value]:
        whole, f, roles = self.whole, self.f, self.roles
        lines, features = len(whole.lines), len(whole.features)
        self.column = column
        self.inside = [column + c < self.limit for c in whole.across]
        scores = {number: self._score(roles.scores[number]) for number in self._needed()}
        tops: dict[tuple[Reduction, int], Value] = {}
        places = [self._places(i, scores, tops) for i in range(lines)]
        given = iter(carried)
        found: list[Value] = []
        scales: dict[tuple[Reduction, int], Value] = {}
        for reduction in self.reductions:
            old = [next(given) for _ in range(lines)]
            new = [self._reduced(reduction, i, old[i], places[i], scales) for i in range(lines)]
            if self._is_top(reduction):
                for i in range(lines):
                    tops[reduction, i] = new[i]
                    scales[reduction, i] = self._scale(reduction, old[i], new[i])
            found += new
        results = iter(self._averaged(
            [[[next(given) for _ in range(features)] for _ in range(lines)] for _ in self.averages],
            places, scales))
        for sums in results:
            found += [value for line in sums for value in line]
        for value in self.matrices:
            for i, row in enumerate(places):
                inside = whole.row + whole.lines[i] < whole.num_rows
                for place, is_column in zip(row, self.inside, strict=True):
                    at = whole._at(value, place)
                    whole.store(value, inside & is_column, at, whole.element(value, place))
        return found

    def _needed(self) -> list[int]:
        """The scores that this sweep reads."""
        found: list[int] = []
        for reduction in self.reductions:
            found += self.roles.scores_below(reduction.member, reduction.value)
        tiles = (product.tile for product in (*self.averages, *self.gradients))
        for value in (*tiles, *self.matrices):
            found += self.roles.scores_of(value)
        return list(dict.fromkeys(found))

    def _places(self, i: int, scores: Mapping[int, Sums], tops: Mapping[tuple[Reduction, int], Value]) -> list[_Place]:
        """The thread's elements of the tile in one of its rows."""
        whole, roles = self.whole, self.roles

        def reduced(reduction: Reduction) -> Value:
            if (reduction, i) in tops:
                return tops[reduction, i]
            return whole.reduced[reduction][i]

        found = []
        for j, across in enumerate(whole.across):
            at = {
                roles.rows: whole.row_at[i],
                roles.columns: whole._inside(self.column + across, whole.num_columns),
            }
            known = {
                number: convert(self.f, sums[i][j], whole.dtype, roles.scores[number].dtype)
                for number, sums in scores.items()
            }
            found.append(_Place(at, reduced, known))
        return found

    def _score(self, product: Product) -> Sums:
        whole, f, roles = self.whole, self.f, self.roles
        extent = whole.grid.named[f"e{product.along}"]

        def fetch(value: int, cls: int, first: Value, count: Value):
            def load(start: Value):
                def element(line: Value, depth: Value, part: int) -> Value:
                    at = {
                        cls: whole._inside(first + line, count),
                        product.along: whole._inside(start + depth, extent),
                    }
                    reduced = whole.own(part) if cls == roles.rows else _nothing
                    return self._factor(value, product, _Place(at, reduced), start + depth < extent)

                return element

            return load

        left = fetch(product.tile, roles.rows, whole.row, whole.num_rows)
        right = fetch(product.other, roles.columns, self.column, whole.num_columns)

        def load(start: Value) -> None:
            whole.left.fill(whole.side, left(start))
            whole.right.fill(whole.side, right(start))

        zero = f.constant(0, whole.kind)
        sums = [[zero] * len(whole.across) for _ in whole.lines]
        return multiplied(f, sums, extent, load, lambda _: whole.left.read, whole.right.read)

    def _factor(self, value: int, product: Product, place: _Place, where: Value) -> Value:
        """An element of a factor; zero beyond the end."""
        whole = self.whole
        found = whole.element(value, place)
        found = convert(self.f, found, self._dtype(value), whole.dtype)
        return self.f.select(where, found, self.f.constant(0, whole.kind))

    def _dtype(self, value: int) -> str:
        for member in self.whole.form.members:
            if value in member.operands:
                kernel = member.kernel
                return (*kernel.outputs, *kernel.inputs)[member.operands.index(value)]
        raise AssertionError(value)

    def _reduced(self, reduction: Reduction, i: int, old: Value, places: list[_Place], scales) -> Value:
        whole, f = self.whole, self.f
        combine = Combine(*_combine(reduction))
        (identity,) = combine.identity(f, 1)
        value = cast(reduction.value, reduction.item.accumulator)
        if reduction.top is not None:
            old = old * scales[reduction.top, i]
        parts = []
        for place, inside in zip(places, self.inside, strict=True):
            (own,) = combine.lift(f, whole.body(reduction.member, value, place), None)
            parts.append([f.select(inside, own, identity)])
        found = combine.tree(f, parts)
        if self._is_top(reduction):
            for mask in (8, 4, 2, 1):
                found = combine.step(f, found, [f.shuffle_xor(found[0], mask)])
        return combine.step(f, [old], found)[0]

    def _scale(self, top: Reduction, old: Value, new: Value) -> Value:
        """By what sums decrease when the maximum grows."""
        f, dtype = self.f, top.item.accumulator
        zero = f.constant(0, old.type)
        lowest = Combine(*_combine(top)).identity(f, 1)[0]

        def shift(value: Value) -> Value:
            return f.select(LOWERINGS["isinf"](f, dtype, value), zero, value)

        found = LOWERINGS["exp"](f, dtype, shift(old) - shift(new))
        return f.select(old.equals(lowest), zero, found)

    # ------------------------------------------------------------------ products of the tile

    def _averaged(self, sums, places, scales):
        whole, f = self.whole, self.f
        products = (*self.averages, *self.gradients)
        for number, value in enumerate(dict.fromkeys(p.tile for p in products)):
            if number:
                f.barrier()  # the last readers are done
            self._write_tile(value, places)
            for k, product in enumerate(self.averages):
                if product.tile == value:
                    if product.top is not None:
                        sums[k] = [[x * scales[product.top, i] for x in line] for i, line in enumerate(sums[k])]
                    sums[k] = self._average(product, sums[k])
            for product in self.gradients:
                if product.tile == value:
                    self._add_gradient(product)
        return sums

    def _write_tile(self, value: int, places) -> None:
        whole, f = self.whole, self.f
        for i, row in enumerate(places):
            is_row = whole.row + whole.lines[i] < whole.num_rows
            for j, place in enumerate(row):
                product = None
                found = self._factor(value, product, place, is_row & self.inside[j])
                f.write_shared(found, self._slot(whole.lines[i], whole.across[j]))

    def _slot(self, line: Value, column: Value) -> Value:
        whole = self.whole
        place = line * (whole.side + 1) + column
        return self.f.offset(whole.tile, place * whole.kind.element_bytes)

    def _average(self, product: Product, sums: Sums) -> Sums:
        """Plus tile times values, whose features are lines of the chunk."""
        whole, f, roles = self.whole, self.f, self.roles
        extent = whole.grid.named[f"e{product.along}"]

        def load(start: Value) -> None:
            def element(line: Value, depth: Value, _: int) -> Value:
                column = self.column + start + depth
                at = {
                    product.along: whole._inside(line, extent),
                    roles.columns: whole._inside(column, whole.num_columns),
                }
                return self._factor(product.other, product, _Place(at, _nothing), column < self.limit)

            whole.right.fill(whole.width, element, lines_are_inner=True)

        def first(start: Value):
            return lambda line, k: f.read_shared(self._slot(line, start + k), whole.kind)

        depth = f.minimum(self.limit - self.column, whole.side)
        return multiplied(f, sums, depth, load, first, whole.right.read)

    def _add_gradient(self, product: Product) -> None:
        """Adds the transposed tile times another factor by rows to the result."""
        whole, f, roles, g = self.whole, self.f, self.roles, self.whole.grid
        extent = g.named[f"e{product.along}"]

        def load(start: Value) -> None:
            def element(line: Value, depth: Value, _: int) -> Value:
                row = whole.row + start + depth

                def reduced(reduction: Reduction) -> Value:
                    kind = whole.reduced[reduction][0].type
                    place = (start + depth) * kind.element_bytes
                    return f.read_shared(f.offset(whole.kept[reduction], place), kind)

                at = {
                    product.along: whole._inside(line, extent),
                    roles.rows: whole._inside(row, whole.num_rows),
                }
                return self._factor(product.other, product, _Place(at, reduced), row < whole.num_rows)

            whole.right.fill(whole.width, element, lines_are_inner=True)

        def first(start: Value):
            return lambda line, k: f.read_shared(self._slot(start + k, line), whole.kind)

        number = g.order.index(product.result)
        results = list(whole.clear_or_add(product, self.column))
        dtype = g.kernel.outputs[product.result]
        columns = len(whole.features)
        flat = [convert(f, g.load(number, r.place), dtype, whole.dtype) for r in results]
        sums = [flat[k : k + columns] for k in range(0, len(flat), columns)]
        depth = f.minimum(whole.num_rows - whole.row, whole.side)
        sums = multiplied(f, sums, depth, load, first, whole.right.read)
        for r in results:
            found = convert(f, sums[r.i][r.j], whole.dtype, dtype)
            whole.store(product.result, r.inside, r.place, found)


def _combine(reduction: Reduction) -> tuple[str, str]:
    return reduction.item.combine, reduction.item.accumulator


def _nothing(reduction: Reduction) -> Value:
    raise NotImplementedError("a block whose columns depend on its rows")

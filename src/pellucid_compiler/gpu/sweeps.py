"""A sweep of a tile of rows over its columns, a tile of columns at a time.

A thread has 16 elements of a tile, or 4 of small ones. Reductions of a row are combined
over the thread's columns, then over the 16 threads of the row by shuffles; those that
scale with a maximum are scaled when it grows. Used by ``attention.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.formats import convert
from pellucid_compiler.codegen.lowerings import LOWERINGS
from pellucid_compiler.codegen.schedules.combine import Combine
from pellucid_compiler.gpu.block_elements import OfRow, Place, Target, Workspace, no_row
from pellucid_compiler.gpu.block_roles import Product, Reduction
from pellucid_compiler.gpu.tiles import Fetch, Read, Sums, multiplied, own_column
from pellucid_compiler.ir.expr import cast

Rows: TypeAlias = dict[Reduction, list[Value]]
"""A number per row of the thread."""

_MASKS = (8, 4, 2, 1)  # of the 16 threads of a row


class Sweep:
    """``limit``: the columns that the tile of rows needs."""

    def __init__(self, work: Workspace, number: int, limit: Value) -> None:
        self.work, self.f, self.roles, self.limit = work, work.f, work.roles, limit
        roles = work.roles
        self.reductions = [r for r in roles.reductions if r.sweep == number]
        self.averages = [p for p in roles.averages.values() if p.sweep == number]
        self.gradients = [p for p in roles.gradients.values() if p.sweep == number]
        self.matrices = [v for v in roles.matrices if roles.ready(v) == number]
        self.is_last = number == roles.num_sweeps - 1
        self.column, self.are_columns = limit, [limit > 0]

    def run(self) -> None:
        """Leaves reductions and averages in the workspace."""
        work, f = self.work, self.f
        lines, width = len(work.lines), len(work.features)
        start: list[Value] = []
        for reduction in self.reductions:
            start += _combine(reduction).identity(f, 1) * lines
        zero = f.constant(0, work.kind)
        start += [zero] * (lines * width * len(self.averages))
        found = iter(f.loop(0, self.limit, work.side, start, self._tile))
        for reduction in self.reductions:
            own = [next(found) for _ in range(lines)]
            work.reduced[reduction] = [self._whole(reduction, value) for value in own]
        for product in self.averages:
            sums = [[next(found) for _ in range(width)] for _ in range(lines)]
            work.averages[product.result] = sums
        if self.roles.gradients and not self.is_last:
            f.branch(own_column(f).equals(0), self._keep)

    def _whole(self, reduction: Reduction, value: Value) -> Value:
        """A row's reduction, from those of its threads."""
        combine, found = _combine(reduction), [value]
        if not self.roles.is_top(reduction):  # the others have it already
            found = self._across(combine, found)
        return combine.result(self.f, found, None)[0]

    def _across(self, combine: Combine, found: list[Value]) -> list[Value]:
        for mask in _MASKS:
            other = self.f.shuffle_xor(found[0], mask)
            found = combine.step(self.f, found, [other])
        return found

    def _keep(self) -> None:
        """Leaves reductions in shared memory, for products over rows."""
        for reduction in self.reductions:
            own = self.work.reduced[reduction]
            for line, value in zip(self.work.lines, own, strict=True):
                memory = self.work.kept[reduction]
                place = self.f.offset(memory, line * value.type.element_bytes)
                self.f.write_shared(value, place)

    def _tile(self, column: Value, carried: list[Value]) -> list[Value]:
        """A tile of columns: scores, reductions, then products of what they give."""
        work, lines, width = self.work, len(self.work.lines), len(self.work.features)
        self.column = column
        self.are_columns = [column + across < self.limit for across in work.across]
        scores = {v: self._score(self.roles.scores[v]) for v in self._needed()}
        given = iter(carried)
        old: Rows = {r: [next(given) for _ in range(lines)] for r in self.reductions}
        tops: Rows = {}
        scales: Rows = {}
        places = [self._places(i, scores, tops) for i in range(lines)]
        found: list[Value] = []
        for reduction in self.reductions:
            own = old[reduction]
            if reduction.top is not None:
                pairs = zip(own, scales[reduction.top], strict=True)
                own = [value * scale for value, scale in pairs]
            new = [
                self._reduced(reduction, x, p) for x, p in zip(own, places, strict=True)
            ]
            found += new
            if self.roles.is_top(reduction):
                tops[reduction] = new
                pairs = zip(own, new, strict=True)
                scales[reduction] = [self._scale(reduction, a, b) for a, b in pairs]
        for product in self.averages:
            sums = [[next(given) for _ in range(width)] for _ in range(lines)]
            if product.top is not None:
                pairs_of = zip(sums, scales[product.top], strict=True)
                sums = [[value * scale for value in line] for line, scale in pairs_of]
            work.averages[product.result] = sums
        self._multiply(places)
        for product in self.averages:
            found += [x for line in work.averages[product.result] for x in line]
        for value in self.matrices:
            self._store_matrix(value, places)
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

    def _places(self, i: int, scores: Mapping[int, Sums], tops: Rows) -> list[Place]:
        """The thread's elements of the tile in one of its rows; ``tops`` are those of
        the columns so far."""
        work, roles = self.work, self.roles

        def of_row(reduction: Reduction) -> Value:
            return (tops if reduction in tops else work.reduced)[reduction][i]

        found = []
        for j, across in enumerate(work.across):
            column = work.inside(self.column + across, work.num_columns)
            known = {
                v: convert(self.f, sums[i][j], work.dtype, roles.scores[v].dtype)
                for v, sums in scores.items()
            }
            at = {roles.rows: work.rows[i], roles.columns: column}
            found.append(Place(at, of_row, known))
        return found

    def _reduced(
        self, reduction: Reduction, old: Value, places: Sequence[Place]
    ) -> Value:
        """A row's reduction with a tile of columns; a maximum in all threads."""
        work, f, combine = self.work, self.f, _combine(reduction)
        (identity,) = combine.identity(f, 1)
        value = cast(reduction.value, reduction.item.accumulator)
        parts = []
        for place, is_column in zip(places, self.are_columns, strict=True):
            (own,) = combine.lift(f, work.body(reduction.member, value, place), None)
            parts.append([f.select(is_column, own, identity)])
        found = combine.tree(f, parts)
        if self.roles.is_top(reduction):
            found = self._across(combine, found)
        return combine.step(f, [old], found)[0]

    def _scale(self, top: Reduction, old: Value, new: Value) -> Value:
        """By what sums shrink when their maximum grows. 0 before the first column: the
        factor may be infinite, and the sums are 0."""
        f, dtype = self.f, top.item.accumulator
        zero = f.constant(0, old.type)
        (lowest,) = _combine(top).identity(f, 1)

        def shift(value: Value) -> Value:
            return f.select(LOWERINGS["isinf"](f, dtype, value), zero, value)

        found = LOWERINGS["exp"](f, dtype, shift(old) - shift(new))
        return f.select(old.equals(lowest), zero, found)

    # ------------------------------------------------------------------ products

    def _score(self, product: Product) -> Sums:
        """A tile of scores: rows times columns, over the features."""
        work, f, roles = self.work, self.f, self.roles
        extent = work.extent(product.along)

        def fetch(
            value: int, cls: int, first: Value, of_row: Callable[[int], OfRow]
        ) -> Callable[[Value], Fetch]:
            def at(start: Value) -> Fetch:
                def element(line: Value, depth: Value, part: int) -> Value:
                    place = {
                        cls: work.inside(first + line, work.extent(cls)),
                        product.along: work.inside(start + depth, extent),
                    }
                    exists = start + depth < extent
                    return work.factor(value, Place(place, of_row(part)), exists)

                return element

            return at

        left = fetch(product.tile, roles.rows, work.row, work.own_row)
        right = fetch(product.other, roles.columns, self.column, lambda _: no_row)

        def load(start: Value) -> None:
            work.left.fill(work.side, left(start))
            work.right.fill(work.side, right(start))

        zero = f.constant(0, work.kind)
        sums = [[zero] * len(work.across) for _ in work.lines]
        read = work.right.read
        return multiplied(f, sums, extent, load, lambda _: work.left.read, read)

    def _multiply(self, places: Sequence[Sequence[Place]]) -> None:
        """The products that read tiles of the matrices, one matrix after the other."""
        products = (*self.averages, *self.gradients)
        for number, value in enumerate(dict.fromkeys(p.tile for p in products)):
            if number:
                self.f.barrier()  # the last readers are done
            self._write_tile(value, places)
            for product in products:
                if product.tile == value:
                    is_average = product in self.averages
                    (self._average if is_average else self._add_gradient)(product)

    def _write_tile(self, value: int, places: Sequence[Sequence[Place]]) -> None:
        """Zero beyond the rows and columns that exist."""
        work = self.work
        for line, row, is_row in zip(work.lines, places, work.are_rows, strict=True):
            for j, place in enumerate(row):
                found = work.factor(value, place, is_row & self.are_columns[j])
                self.f.write_shared(found, self._slot(line, work.across[j]))

    def _slot(self, row: Value, column: Value) -> Value:
        place = row * (self.work.side + 1) + column
        return self.f.offset(self.work.tile, place * self.work.kind.element_bytes)

    def _average(self, product: Product) -> None:
        """Adds the tile times the other factor, by the columns of the tile."""
        work, f = self.work, self.f
        extent = work.extent(product.along)

        def load(start: Value) -> None:
            def element(line: Value, depth: Value, _: int) -> Value:
                column = self.column + start + depth
                at = {
                    product.along: work.inside(line, extent),
                    self.roles.columns: work.inside(column, work.num_columns),
                }
                place = Place(at, no_row)
                return work.factor(product.other, place, column < self.limit)

            work.right.fill(work.width, element, lines_are_inner=True)

        def first(start: Value) -> Read:
            return lambda line, k: f.read_shared(self._slot(line, start + k), work.kind)

        depth = f.minimum(self.limit - self.column, work.side)
        sums = work.averages[product.result]
        sums = multiplied(f, sums, depth, load, first, work.right.read)
        work.averages[product.result] = sums

    def _add_gradient(self, product: Product) -> None:
        """Adds the transposed tile times the other factor's rows to the result."""
        work, f, number = self.work, self.f, self.work.grid.order.index(product.result)
        extent, width = work.extent(product.along), len(work.features)

        def load(start: Value) -> None:
            def element(line: Value, depth: Value, _: int) -> Value:
                row = work.row + start + depth
                at = {
                    product.along: work.inside(line, extent),
                    self.roles.rows: work.inside(row, work.num_rows),
                }
                place = Place(at, work.row_of_tile(start + depth))
                return work.factor(product.other, place, row < work.num_rows)

            work.right.fill(work.width, element, lines_are_inner=True)

        def first(start: Value) -> Read:
            return lambda line, k: f.read_shared(self._slot(start + k, line), work.kind)

        zero = f.constant(0, work.kind)

        def before(target: Target) -> Value:
            def load() -> list[Value]:
                found = work.grid.load(number, target.address)
                return [convert(f, found, product.dtype, work.dtype)]

            return f.branch(target.exists, load, lambda: [zero])[0]

        flat = [before(target) for target in work.targets(product, self.column)]
        sums = [flat[k : k + width] for k in range(0, len(flat), width)]
        depth = f.minimum(work.num_rows - work.row, work.side)
        sums = multiplied(f, sums, depth, load, first, work.right.read)
        for i, j, exists, address in work.targets(product, self.column):
            found = convert(f, sums[i][j], work.dtype, product.dtype)
            work.store(product.result, exists, address, found)

    def _store_matrix(self, value: int, places: Sequence[Sequence[Place]]) -> None:
        """A result by row and column."""
        work = self.work
        for row, is_row in zip(places, work.are_rows, strict=True):
            for place, is_column in zip(row, self.are_columns, strict=True):
                address = work.address(value, place.at)
                found = work.element(value, place)
                work.store(value, is_row & is_column, address, found)


def _combine(reduction: Reduction) -> Combine:
    return Combine(reduction.item.combine, reduction.item.accumulator)

"""The schedule of ``block``: attention and its gradient, without a matrix of scores.

A block of threads takes a tile of rows (queries) and sweeps over the columns (keys)
tile by tile, in order. Tiles of scores are in registers; what a product reads of them
goes through shared memory. The forward form needs one sweep, with an online softmax;
the gradient needs one for the rows' maxima and sums, and two more. If members add along
rows, as the gradients of keys and values do, a block of threads takes all rows of a
head in order, and adds to its own elements of the results.

So the bits depend on the sizes alone. Sums are float32, or float64 of float64. Which
member does what, ``block_roles.py`` finds. Read next: ``block_elements.py``.
"""

from __future__ import annotations

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.formats import convert, register_type
from pellucid_compiler.codegen.kernel import Block, Kernel
from pellucid_compiler.gpu.block_elements import Place, Workspace
from pellucid_compiler.gpu.block_roles import Product, Roles
from pellucid_compiler.gpu.builder import GpuModule
from pellucid_compiler.gpu.grid import Shape
from pellucid_compiler.gpu.sweeps import Sweep
from pellucid_compiler.gpu.tiles import own_column

MOST_COLUMNS = 128
"""Of tiles of results: sizes of heads."""


def emit_block(module: GpuModule, kernel: Kernel, form: Block, shape: Shape) -> None:
    """Rows over the grid; NotImplementedError for other blocks than attention's."""
    if shape.reduced > MOST_COLUMNS:
        raise NotImplementedError(f"heads of more than {MOST_COLUMNS} features")
    _Attention(module, kernel, Roles(form, len(kernel.outputs)), shape).write()


class _Attention:
    """The walk over heads and tiles of rows."""

    def __init__(
        self, module: GpuModule, kernel: Kernel, roles: Roles, shape: Shape
    ) -> None:
        self.work = Workspace(module, kernel, roles, shape)
        self.roles, self.form, self.f = roles, roles.form, self.work.f

    def write(self) -> None:
        work, f = self.work, self.f
        heads = range(self.form.parallel)
        count = work.grid.count(heads)
        if self.roles.is_in_order:
            f.loop(f.block(), count, f.blocks(), [], self._head)
            return f.ret()
        tiles = f.binary("udiv", work.num_rows + (work.side - 1), f.integer(work.side))

        def rows(task: Value, _: list[Value]) -> None:
            head = f.binary("udiv", task, tiles)
            work.start(work.grid.coordinates(head, heads))
            self._rows(f.binary("urem", task, tiles) * work.side)

        f.loop(f.block(), count * tiles, f.blocks(), [], rows)
        return f.ret()

    def _head(self, number: Value, _: list[Value]) -> None:
        """All rows of a point of the parallel classes, in order."""
        work, f = self.work, self.f
        outer = work.grid.coordinates(number, range(self.form.parallel))
        ordered = range(self.form.parallel, self.roles.rows)

        def point(index: Value, _: list[Value]) -> None:
            at = work.grid.coordinates(index, ordered)
            work.start({**outer, **at})
            for product in self.roles.gradients.values():
                self._clear(product, at)
            f.loop(0, work.num_rows, work.side, [], lambda row, _: self._rows(row))

        f.loop(0, work.grid.count(ordered), 1, [], point)

    def _clear(self, product: Product, at: dict[int, Value]) -> None:
        """Zeros, where the sums of a gradient begin."""
        work, f = self.work, self.f
        begins = f.constant(1, f.integer(0).equals(0).type)
        for cls, place in at.items():
            if cls not in self.form.values[product.result]:
                begins = begins & place.equals(0)
        zero = f.constant(0, register_type(product.dtype))

        def tile(column: Value, _: list[Value]) -> None:
            for target in work.targets(product, column):
                work.store(product.result, target.exists, target.address, zero)

        def clear() -> None:
            f.loop(0, work.num_columns, work.side, [], tile)

        f.branch(begins, clear)

    def _rows(self, row: Value) -> None:
        """A tile of rows: every sweep, then its results."""
        work, roles = self.work, self.roles
        work.take_rows(row)
        limit = work.num_columns
        if self.form.triangle == roles.columns and not roles.matrices:
            limit = self.f.minimum(limit, row + work.side)
        for number in range(roles.num_sweeps):
            Sweep(work, number, limit).run()
        for value in range(roles.num_outputs):
            if value not in roles.gradients and value not in roles.matrices:
                self._store(value)

    def _store(self, value: int) -> None:
        """The tile's rows of a result by row and feature, or of one number per row."""
        work, roles = self.work, self.roles
        along = next(iter(roles.kind(value) - {roles.rows}), None)
        is_first = own_column(self.f).equals(0)
        for i, is_row in enumerate(work.are_rows):
            at = {roles.rows: work.rows[i]}
            if along is None:
                self._store_element(
                    value, is_row & is_first, Place(at, work.own_row(i))
                )
                continue
            extent = work.extent(along)
            for j, feature in enumerate(work.features):
                place = Place(
                    at | {along: work.inside(feature, extent)}, work.own_row(i)
                )
                for number, sums in work.averages.items():
                    dtype = roles.averages[number].dtype
                    place.known[number] = convert(self.f, sums[i][j], work.dtype, dtype)
                self._store_element(value, is_row & (feature < extent), place)

    def _store_element(self, value: int, where: Value, place: Place) -> None:
        found = self.work.element(value, place)
        self.work.store(value, where, self.work.address(value, place.at), found)

"""Elements of a block's values, computed by its members' expressions where needed.

``Workspace`` has what all tiles of a block's kernel share: arguments, shared memory,
the places of a thread's elements, and what is known of the present tile of rows. Every
load is inside of its operand: places beyond an end are replaced by the last one, and
what is computed there is dropped. Read next: ``sweeps.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.formats import convert, register_type
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.gpu.block_roles import Product, Reduction, Roles
from pellucid_compiler.gpu.builder import GpuModule
from pellucid_compiler.gpu.grid import Grid, Shape
from pellucid_compiler.gpu.tiles import SIDE, Chunk, Sums, own_column, own_line
from pellucid_compiler.ir.expr import Expr, cast, sym

OfRow = Callable[[Reduction], Value]
"""The reductions of a row."""


@dataclass
class Place:
    """Where elements are computed: a place along classes, the reductions of its row,
    and values that are known there."""

    at: dict[int, Value]
    of_row: OfRow
    known: dict[int, Value] = field(default_factory=dict)
    emitters: dict[int, Emitter] = field(default_factory=dict)


class Target(NamedTuple):
    """A thread's element of a tile of a gradient: its line and column there, whether it
    exists, and its address."""

    i: int
    j: int
    exists: Value
    address: Value


class Workspace:
    def __init__(
        self, module: GpuModule, kernel: Kernel, roles: Roles, shape: Shape
    ) -> None:
        self.grid, width = Grid(module, kernel, shape), shape.reduced
        self.roles, self.form = roles, roles.form
        self.f = f = self.grid.function
        self.dtype = max(product.summed for product in roles.products)  # float64 if any
        self.kind = register_type(self.dtype)
        is_large = self.kind.element_bytes == 8 or bool(roles.gradients)
        self.side = 32 if is_large else 64  # what registers and shared memory hold
        self.left = Chunk.make(f, self.side, self.kind)
        self.right = Chunk.make(f, max(self.side, width), self.kind)
        self.tile = f.shared(self.side * (self.side + 1) * self.kind.element_bytes)
        self.kept = {r: f.shared(self.side * 8) for r in roles.reductions}
        sides, self.width = range(self.side // SIDE), width
        self.lines = [own_line(f) + SIDE * i for i in sides]
        self.across = [own_column(f) + SIDE * j for j in sides]
        self.features = [own_column(f) + SIDE * j for j in range(self.width // SIDE)]
        self.params = {
            (number, k): self.grid.uniform.value(sym(f"p{member.first_param + k}", d))
            for number, member in enumerate(self.form.members)
            for k, d in enumerate(member.kernel.params[: member.num_params])
        }
        self.num_rows, self.num_columns = map(self.extent, (roles.rows, roles.columns))
        self.starts: dict[int, Value] = {}
        self.row = f.integer(0)
        self.reduced: dict[Reduction, list[Value]] = {}
        self.averages: dict[int, Sums] = {}

    def extent(self, cls: int) -> Value:
        return self.grid.named[f"e{cls}"]

    def start(self, at: dict[int, Value]) -> None:
        """Operands begin at a place along the classes before the rows."""
        self.starts = {
            value: self._moved(value, self.grid.named[f"d{value}"], at)
            for value in range(len(self.grid.memory))
        }

    def take_rows(self, row: Value) -> None:
        """A tile of rows begins, of which nothing is known."""
        self.row, self.reduced, self.averages = row, {}, {}
        self.rows = [self.inside(row + line, self.num_rows) for line in self.lines]
        self.are_rows = [row + line < self.num_rows for line in self.lines]

    def inside(self, place: Value, extent: Value) -> Value:
        """The place, or the last one."""
        return self.f.minimum(place, extent - 1)

    def address(self, value: int, at: Mapping[int, Value]) -> Value:
        return self._moved(value, self.starts[value], at)

    def _moved(self, value: int, start: Value, at: Mapping[int, Value]) -> Value:
        for cls in self.form.values[value]:
            if cls in at:
                stride = self.grid.named[f"t{value}_{cls}"]
                start = self.f.offset(start, at[cls] * stride)
        return start

    def element(self, value: int, place: Place) -> Value:
        """A value's element in the dtype of the kernels that have it."""
        if value not in place.known:
            place.known[value] = self._element(value, place)
        return place.known[value]

    def _element(self, value: int, place: Place) -> Value:
        if value in self.roles.bodies:
            member, body = self.roles.bodies[value]
            return self.body(member, cast(body, self.roles.dtype(value)), place)
        number = self.grid.order.index(value)
        return self.grid.load(number, self.address(value, place.at))

    def body(self, member: int, e: Expr, place: Place) -> Value:
        """An expression of a member at a place."""

        def leaf(x: Expr) -> Value:
            if x.op == "load":
                return self.element(self.roles.source(member, x), place)
            name = str(x.attr)
            if name.startswith("p"):
                return self.params[member, int(name[1:])]
            found = self.roles.reduction(member, x)
            dtype = found.item.accumulator
            return convert(self.f, place.of_row(found), dtype, x.dtype)

        emitter = place.emitters.setdefault(member, Emitter(self.f, 1, leaf))
        return emitter.value(e)

    def factor(self, value: int, place: Place, where: Value) -> Value:
        """An element in the dtype of sums; zero except ``where``."""
        found = self.element(value, place)
        found = convert(self.f, found, self.roles.dtype(value), self.dtype)
        return self.f.select(where, found, self.f.constant(0, self.kind))

    def own_row(self, i: int) -> OfRow:
        """The reductions of one of the thread's rows."""
        return lambda reduction: self.reduced[reduction][i]

    def row_of_tile(self, number: Value) -> OfRow:
        """The reductions of any row of the tile, which an earlier sweep left."""

        def read(reduction: Reduction) -> Value:
            kind = self.reduced[reduction][0].type
            memory = self.kept[reduction]
            return self.f.read_shared(
                self.f.offset(memory, number * kind.element_bytes), kind
            )

        return read

    def targets(self, product: Product, column: Value) -> Iterator[Target]:
        """The thread's elements of a tile of a gradient."""
        f, extent, columns = self.f, self.extent(product.along), self.roles.columns
        first = {columns: column + self.lines[0], product.along: self.features[0]}
        start = self.address(product.result, first)
        down, right = (
            self.grid.named[f"t{product.result}_{cls}"] * SIDE
            for cls in (columns, product.along)
        )
        for i, line in enumerate(self.lines):
            for j, feature in enumerate(self.features):
                exists = (column + line < self.num_columns) & (feature < extent)
                address = f.offset(f.offset(start, down * i), right * j)
                yield Target(i, j, exists, address)

    def store(self, value: int, where: Value, address: Value, found: Value) -> None:
        """Stores an element of a result ``where`` it exists."""
        number, dtype = self.grid.order.index(value), self.roles.dtype(value)
        self.f.branch(where, lambda: self.grid.store(number, address, found, dtype))


def no_row(reduction: Reduction) -> Value:
    """For elements that have no row."""
    raise NotImplementedError("a block whose columns depend on its rows")

"""What every schedule reads first: arguments by name, and where an element is.

``Shape`` is what a kernel's text depends on besides the kernel: numbers of axes and the
dtypes in memory. Sizes, strides and parameters are arguments, each of 64 bits:
``arguments`` says in which order. Read next: ``maps.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pellucid_compiler.codegen.builder import DOUBLE, Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.formats import (
    convert,
    from_memory,
    memory_type,
    to_memory,
)
from pellucid_compiler.codegen.kernel import Block, Kernel, Nest, parameter_number
from pellucid_compiler.gpu.builder import (
    GpuModule,
)
from pellucid_compiler.ir.expr import Expr


@dataclass(frozen=True)
class Shape:
    """``stored`` axes number the results, ``reduced`` axes are inside of each; those of
    a nest are all stored. The last stored axes of a product are its ``rows`` and then
    its ``columns``; ``guards`` has 1 for each dim in which the first factor is read
    beyond its ends, and 16 for each of the second. Of a block, ``stored`` classes are
    independent, and ``reduced`` is how many columns its tiles of results have.
    ``memory`` has the operands' dtypes there, outputs first."""

    stored: int
    reduced: int
    memory: tuple[str, ...]
    rows: int = 0
    columns: int = 0
    guards: int = 0

    @classmethod
    def of(cls, axes: tuple[int, int, int, int, int], memory: tuple[str, ...]) -> Shape:
        """From the numbers of axes of runtime/cuda/grid_launch.h: stored, reduced,
        rows, columns and guards."""
        stored, reduced, rows, columns, guards = axes
        return cls(stored, reduced, memory, rows, columns, guards)

    def guards_of(self, factor: int) -> int:
        """In how many dims factor 0 or 1 is read beyond its ends."""
        return self.guards >> 4 * factor & 15

    @property
    def axes(self) -> int:
        return self.stored + self.reduced

    def arguments(self, kernel: Kernel) -> tuple[list[str], list[str]]:
        """The names of pointers and of numbers: extents ``e``, strides in bytes ``t``
        by operand and axis, parameters ``p``, and the number of groups of rows that are
        added up, with the stride ``g`` of each output from group to group. A nest's
        operands have strides by their own dims, and then their sizes ``s``. A factor
        with guards has the bytes ``o`` to its first point, and for each guard the index
        ``f`` of that point, the size ``n``, and the steps ``w`` of the index by axis.
        """
        operands, form = range(len(self.memory)), kernel.form
        axes = form.num_classes if isinstance(form, Block) else self.axes
        ranks = [axes] * len(self.memory)
        if isinstance(form, Nest):
            ranks = list(form.operand_ranks)
        places = [f"{k}_{dim}" for k in operands for dim in range(ranks[k])]
        numbers = [f"e{axis}" for axis in range(axes)]
        numbers += [f"t{place}" for place in places]
        if isinstance(form, Nest):
            numbers += [f"s{place}" for place in places]
        for factor in range(2):
            count, k = self.guards_of(factor), len(kernel.outputs) + factor
            numbers += [f"o{k}"] * bool(count)
            for guard in (f"{k}_{number}" for number in range(count)):
                numbers += [f"f{guard}", f"n{guard}"]
                numbers += [f"w{guard}_{axis}" for axis in range(axes)]
        numbers += [f"p{number}" for number in range(len(kernel.params))]
        numbers += ["groups", *(f"g{k}" for k in range(len(kernel.outputs)))]
        return [*(f"d{k}" for k in operands), "status"], numbers


class Grid:
    """A kernel under construction. Operands are numbered as loads are: inputs first."""

    def __init__(self, module: GpuModule, kernel: Kernel, shape: Shape) -> None:
        self.kernel, self.shape = kernel, shape
        self.function, self.named = module.entry(*shape.arguments(kernel))
        self.function.status = self.named["status"]
        outputs, total = len(kernel.outputs), len(shape.memory)
        self.order = [*range(outputs, total), *range(outputs)]
        self.pointers = [self.named[f"d{k}"] for k in self.order]
        self.memory = [shape.memory[k] for k in self.order]
        self.dtypes = [*kernel.inputs[: total - outputs], *kernel.outputs]
        self.first_output = total - outputs
        self.uniform = Emitter(self.function, 1, self._parameter)

    def _parameter(self, e: Expr) -> Value:
        f, number = self.function, parameter_number(e)
        dtype, raw = self.kernel.params[number], self.named[f"p{number}"]
        whole = dtype == "bool" or "int" in dtype
        value = raw if whole else f.bitcast(raw, DOUBLE)
        return convert(f, value, "int64" if whole else "float64", dtype)

    def extents(self, axes: Sequence[int]) -> list[Value]:
        return [self.named[f"e{axis}"] for axis in axes]

    def count(self, axes: Sequence[int]) -> Value:
        """How many points the axes have."""
        found = self.function.integer(1)
        for extent in self.extents(axes):
            found = found * extent
        return found

    def coordinates(self, index: Value, axes: Sequence[int]) -> dict[int, Value]:
        """The place along each axis of a point that is numbered in row-major order."""
        f, found = self.function, {}
        for axis in reversed(axes):
            if axis == axes[0]:
                found[axis] = index
                break
            extent = self.named[f"e{axis}"]
            found[axis] = f.binary("urem", index, extent)
            index = f.binary("udiv", index, extent)
        return found

    def moved(
        self, starts: Sequence[Value], coordinates: dict[int, Value]
    ) -> list[Value]:
        """Where the operands are at a place, from where they start."""
        f, found = self.function, []
        for number, start in zip(self.order, starts, strict=True):
            for axis, place in coordinates.items():
                start = f.offset(start, place * self.named[f"t{number}_{axis}"])
            found.append(start)
        return found

    def load(self, number: int, place: Value) -> Value:
        """An element in the kernel's dtype."""
        f, stored = self.function, self.memory[number]
        kind = memory_type(stored)
        f.touch(place, kind.element_bytes, "read_global")
        value = from_memory(f, f.load(place, kind, 1), stored)
        return convert(f, value, stored, self.dtypes[number])

    def store(self, number: int, place: Value, value: Value, dtype: str) -> None:
        """A value of ``dtype``, in the kernel's dtype and then memory's."""
        f, stored = self.function, self.memory[number]
        value = convert(f, value, dtype, self.dtypes[number])
        raw = to_memory(f, convert(f, value, self.dtypes[number], stored), stored)
        f.touch(place, raw.type.element_bytes, "write_global")
        f.store(raw, place)

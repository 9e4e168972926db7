"""The schedule of ``nest``: a thread takes the elements that nothing else stores to.

An axis is *parallel* if every store's index has a dimension that moves with this axis
alone: points that differ along it store to different elements. Threads take the points
of the parallel axes in turn, and each runs the other axes in order, so an element's
contributions are combined in the order of the CPU's loops and have its bits. What a
point computes is written by the CPU's schedule, with one lane.
"""

from __future__ import annotations

from pellucid_compiler.abi.status import OUT_OF_BOUNDS, status
from pellucid_compiler.codegen.builder import PTR, Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.kernel import Kernel, Nest
from pellucid_compiler.codegen.schedules.loop_level import LoopLevel
from pellucid_compiler.codegen.schedules.nest import LoopWriter
from pellucid_compiler.codegen.schedules.nest_context import NestContext
from pellucid_compiler.codegen.schedules.nest_form import in_order
from pellucid_compiler.gpu.builder import THREADS, GpuModule
from pellucid_compiler.gpu.grid import Grid, Shape
from pellucid_compiler.ir.expr import Expr, is_const
from pellucid_compiler.ir.traversal import axes_of


def emit_nest(module: GpuModule, kernel: Kernel, form: Nest, shape: Shape) -> None:
    """A thread per point of the parallel axes; NotImplementedError where memory has
    other dtypes than the kernel."""
    if shape.memory != (*kernel.outputs, *kernel.inputs)[: len(shape.memory)]:
        raise NotImplementedError("a nest whose operands are converted")
    grid = Grid(module, kernel, shape)
    parallel = parallel_axes(form)
    order = [*parallel, *(a for a in range(form.rank) if a not in parallel)]
    nest = NestContext(_Entry(grid, form), in_order(form, order), order, False)  # type: ignore[arg-type]
    _GridWriter(nest, grid, len(parallel)).write()
    grid.function.ret()


def parallel_axes(form: Nest) -> list[int]:
    """The axes along which no two points store to the same element."""
    found = []
    for axis in range(form.rank):
        dims = [
            {d for d, e in enumerate(store.index) if _moves_with(e, axis)}
            for store in form.stores
        ]
        if set.intersection(*dims):
            found.append(axis)
    return found


def _moves_with(e: Expr, axis: int) -> bool:
    """Whether an index is the axis, plus or minus something that is the same for all
    points."""
    if e.op == "axis":
        return bool(e.attr == axis)
    if e.op not in ("add", "sub"):
        return False
    moving = [arg for arg in e.args if axes_of(arg)]
    fixed = [arg for arg in e.args if not axes_of(arg)]
    return (
        len(moving) == 1
        and _moves_with(moving[0], axis)
        and all(arg.op == "sym" or is_const(arg, arg.attr) for arg in fixed)
    )


class _Entry:
    """The arguments of a grid's kernel as ``NestContext`` asks for them: sizes and
    strides by number, as in ``kernel.Nest``."""

    target = None

    def __init__(self, grid: Grid, form: Nest) -> None:
        self.grid, self.function, self.kernel = grid, grid.function, grid.kernel
        self.dtypes = [*grid.kernel.inputs, *grid.kernel.outputs]
        places = [
            f"{k}_{d}" for k, n in enumerate(form.operand_ranks) for d in range(n)
        ]
        extents = [f"e{axis}" for axis in range(form.rank)] or ["one"]
        self._sizes = ["zero", *extents, *(f"s{place}" for place in places)]
        self._strides = [f"t{place}" for place in places]
        grid.named["zero"], grid.named["one"] = (
            self.function.integer(k) for k in (0, 1)
        )
        self.params = self._params()

    def _params(self) -> Value:
        """The parameters as the CPU's kernels have them, 64 bits each in a row."""
        f, names = self.function, [f"p{k}" for k in range(len(self.kernel.params))]
        memory = f.stack(8 * len(names)) if names else Value(f, "null", PTR)
        for number, name in enumerate(names):
            f.store(self.grid.named[name], f.offset(memory, 8 * number))
        return memory

    def size(self, number: int) -> Value:
        return self.grid.named[self._sizes[number]]

    def stride(self, number: int) -> Value:
        return self.grid.named[self._strides[number]]

    def pointers(self) -> list[Value]:
        return self.grid.pointers

    def uniform(self) -> Emitter:
        return self.grid.uniform


class _GridLevel(LoopLevel):
    """A loop whose failures have the number that the point has in the CPU's order."""

    def _failure(self, bad: Value) -> Value:
        f, nest = self.function, self.nest
        at = dict(zip(nest.order, self.axes(), strict=False))
        flat = f.integer(0)
        for axis in range(nest.form.rank):
            flat = flat * nest.entry.size(1 + axis) + at.get(axis, f.integer(0))
        return (flat & ((1 << 48) - 1)) | status(OUT_OF_BOUNDS)


class _GridWriter(LoopWriter):
    """The loops of one thread: over points of the parallel axes, then the others."""

    level_class = _GridLevel

    def __init__(self, nest: NestContext, grid: Grid, num_parallel: int) -> None:
        super().__init__(nest)
        self.grid, self.num_parallel = grid, num_parallel

    def write(self) -> None:
        f = self.grid.function
        parallel = self.nest.order[: self.num_parallel]
        root = self.level_class(self.nest, None, None, 1, None)
        root.prepare_all()

        def point(number: Value, _: list[Value]) -> None:
            at = self.grid.coordinates(number, parallel) if parallel else {}
            level: LoopLevel = root
            for axis in parallel:
                level.prepare_all()
                level = self.level_class(self.nest, level, at[axis], 1, None)
            self.loop(level, 1, ())

        first = f.block() * THREADS + f.thread()
        f.loop(first, self.grid.count(parallel), f.blocks() * THREADS, [], point)

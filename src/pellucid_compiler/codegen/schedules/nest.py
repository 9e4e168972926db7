"""The schedule of ``nest``: any loop nest, with computed and checked indices.

Every expression is computed in the outermost possible loop (``LoopLevel``):
loop-invariant code motion. One axis is vectorised if the stores that depend on it have
stride 1 along it; loads may have any strides. Otherwise the nest runs point by point.
If the inner loops only add to an element, or compute its maximum, it is accumulated in
a register, in the order of the loops. Called by ``generate.py``. Read next:
``loop_level.py``, ``indices.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid_compiler.abi.status import OUT_OF_BOUNDS, status
from pellucid_compiler.codegen.builder import I1, Module, Value
from pellucid_compiler.codegen.formats import memory_type, widest_bits
from pellucid_compiler.codegen.kernel import Kernel, Nest, check_kernel
from pellucid_compiler.codegen.schedules.access import has_masked_access, open_kernel
from pellucid_compiler.codegen.schedules.indices import Lanes, Levels, vector_axis
from pellucid_compiler.codegen.schedules.loop_level import LoopLevel
from pellucid_compiler.codegen.schedules.nest_context import NestContext
from pellucid_compiler.codegen.schedules.nest_form import in_order
from pellucid_compiler.codegen.schedules.nest_stores import NestStores
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.ir.expr import Expr, axis

_VECTORS = 4  # vectors of channels that share loops
_MOST_LANES = 64  # lanes of a mask


class LoopWriter:
    """Writes the loops of a nest, vectorised where the strides at run time allow it."""

    level_class = LoopLevel

    def __init__(self, nest: NestContext) -> None:
        self.nest, self.stores = nest, NestStores(nest)
        self.function = nest.function

    def write(self) -> None:
        f, dtypes = self.function, self.nest.entry.dtypes
        widths = [memory_type(d).element_bytes for d in dtypes]
        chosen = vector_axis(
            self.nest.levels, self.nest.stores, self.nest.outputs, widths
        )
        ends = self.nest.bounds.values()
        if chosen and any(self.nest.levels.follows(end, chosen.axis) for end in ends):
            chosen = None  # a loop's end cannot differ between lanes
        if chosen is None or not self._has_masks(chosen):
            self.loops(None, 1)
        else:
            dense = f.constant(True, I1)
            for operand, dimension in sorted(chosen.dense):
                step = self.nest.strides[operand][dimension]
                dense = dense & step.equals(widths[operand])
            f.branch(dense, lambda: self._runs(chosen), lambda: self.loops(None, 1))

    def _runs(self, chosen: Lanes) -> None:
        """Write the loops, vectorised along the chosen axis. If channels are the
        innermost stored axis, several vectors of them share the loop-invariant values
        and the loops over reduced axes.
        """
        one = self._num_lanes(chosen)
        wide = min(_VECTORS * one, _MOST_LANES)
        is_turned = list(self.nest.order) != list(range(self.nest.form.rank))
        shares = is_turned or any(a > chosen.axis for a in self.nest.bounds)
        shares = shares and chosen.axis > 0 and self.nest.entry.target.has_masks
        if not shares or wide <= one:
            return self.loops(chosen, one)
        channels = self.nest.extents[chosen.axis - 1]
        self.function.branch(
            channels > wide // 2,
            lambda: self.loops(chosen, wide),
            lambda: self.loops(chosen, one),
        )
        return None

    def _num_lanes(self, lanes: Lanes) -> int:
        """The number of lanes, limited by the widest value that differs between
        lanes.
        """
        values, axis = lanes.values, lanes.axis
        varying = [e.dtype for e in values if self.nest.levels.follows(e, axis)]
        bits = widest_bits([*self.nest.kernel.outputs, *varying])
        return self.nest.entry.target.vector_bits // bits

    def _has_masks(self, lanes: Lanes) -> bool:
        target, dtypes = self.nest.entry.target, self.nest.entry.dtypes
        return all(has_masked_access(target, dtypes[k]) for k, _ in lanes.dense)

    def loops(self, chosen: Lanes | None, lanes: int) -> None:
        """Write all loops; those from the chosen axis inwards use vectors of
        ``lanes``.
        """
        self.nest.vectorise(chosen)
        self.loop(self.level_class(self.nest, None, None, 1, None), lanes, ())

    def loop(
        self, place: LoopLevel, lanes: int, accumulator: Sequence[Value]
    ) -> Sequence[Value]:
        """Write the loops inside of ``place``, then the stores.

        An element that the inner loops only add to is held in ``accumulator``."""
        f = self.function
        place.prepare_all()
        depth = place.level
        starts = self.nest.accumulates and depth == self.nest.store_level
        if starts:
            targets, accumulator = self.stores.open_element(place)
        if depth == self.nest.form.rank:
            if accumulator:
                return self.stores.combined(place, accumulator)
            self.stores.write_all(place)
            return ()
        start = self.nest.begin if depth == 0 else f.integer(0)
        stop = self.nest.end if depth == 0 else self.nest.extents[depth - 1]
        if depth in self.nest.bounds:
            stop = f.minimum(stop, place.value(self.nest.bounds[depth], None, 1))
            self._check_ranges(place, stop)
        turns = depth == self.nest.axis

        def body(index: Value, carried: list[Value]) -> Sequence[Value]:
            mask = place.mask
            if turns:
                mask = f.first_lanes(stop - index, lanes)
            width = lanes if turns else place.lanes
            level = self.level_class(self.nest, place, index, width, mask)
            return self.loop(level, lanes, carried)

        found = f.loop(start, stop, lanes if turns else 1, accumulator, body)
        if starts:
            self.stores.close_element(place, targets, found)
            return ()
        return found

    def _check_ranges(self, place: LoopLevel, stop: Value) -> None:
        """Check indices that are the index of the loop inside of ``place`` plus a
        constant, once for all of its points. The loop ends at ``stop``.
        """
        f, levels, depth = self.function, self.nest.levels, place.level

        def leave(first: Value, size: Value) -> Callable[[], Value]:
            def at_the_first_one_outside() -> Value:
                reached = f.select(first >= 0, f.maximum(size - first, 0), 0)
                return self._range_failure(place, reached)

            return at_the_first_one_outside

        for operand, index in levels.hoisted_accesses[depth + 1]:
            if operand in self.nest.outputs or any(map(levels.is_guarded, index)):
                continue
            for dimension, e in enumerate(index):
                start = _start_along(levels, e, depth)
                if start is None or (operand, dimension) in self.nest.proved:
                    continue
                first, size = (
                    place.value(start, None, 1),
                    self.nest.shapes[operand][dimension],
                )
                inside = (first >= 0) & (stop <= size - first)
                f.return_if((stop > 0) & ~inside, leave(first, size))
                self.nest.in_range.add((operand, index, dimension))

    def _range_failure(self, place: LoopLevel, index: Value) -> Value:
        """The status of an index out of bounds at this point of the next loop."""
        f = self.function
        flat, axes = f.integer(0), [*place.axes(), index]
        for depth in range(self.nest.form.rank):
            extent = self.nest.extents[depth - 1] if depth else f.integer(1)
            flat = flat * extent
            flat = flat + axes[depth] if depth < len(axes) else flat
        return (flat & ((1 << 48) - 1)) | status(OUT_OF_BOUNDS)


def _start_along(levels: Levels, e: Expr, depth: int) -> Expr | None:
    """The index ``e`` at the first point of the loop of this depth, if it grows by one
    per point; else None.
    """
    if e.op != "add":
        return None
    for start, moving in (e.args, e.args[::-1]):
        if moving is axis(depth) and levels.level(start) <= depth:
            return start
    return None


def emit_nest(
    module: Module, kernel: Kernel, form: Nest, target: Target, *, checked: bool
) -> None:
    """Write the kernel's function into ``module``."""
    roots = [e for s in form.stores for e in s.exprs]
    check_kernel(kernel, roots)
    entry = open_kernel(module, kernel, target)
    f = entry.function

    def write(order: Sequence[int]) -> None:
        nest = NestContext(entry, in_order(form, order), order, checked)
        LoopWriter(nest).write()

    if form.channels_last_order:
        width = memory_type(kernel.outputs[0]).element_bytes
        last = entry.stride(form.operand_ranks[0] - 1)
        is_channels_last = entry.stride(1).equals(width) & last.differs(width)
        f.branch(
            is_channels_last,
            lambda: write(form.channels_last_order),
            lambda: write(range(form.rank)),
        )
    else:
        write(range(form.rank))
    f.ret(f.integer(0))

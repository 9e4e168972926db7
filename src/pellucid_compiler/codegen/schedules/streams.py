"""Operands read and written in vectors along one axis, with any strides.

Whether an operand is contiguous along the axis, broadcast, or strided is known only at
run time. A broadcast operand is copied into a small tile once per row and read from it
with step 0; a strided one is copied element by element, a vector at a time. So one loop
serves every combination of layouts, with equal bits. For speed, a schedule may test
``are_dense`` first and disable the copies. Used by every schedule except nest.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pellucid_compiler.codegen.builder import I1, Value
from pellucid_compiler.codegen.formats import memory_type
from pellucid_compiler.codegen.schedules.access import (
    Entry,
    copy_elements,
    load_run,
    store_run,
)


class Streams:
    """Operands along an axis with the given strides; ``unroll`` vectors at a time.

    ``read`` and ``written`` are operand numbers; an operand may be in both.
    """

    def __init__(
        self,
        entry: Entry,
        read: Sequence[int],
        written: Sequence[int],
        steps: Sequence[Value],
        lanes: int,
        unroll: int,
    ) -> None:
        self.entry, self.read, self.written = entry, read, written
        self.function, self.steps = entry.function, steps
        self.lanes, self.unroll = lanes, unroll
        f = self.function
        self._widths = [memory_type(d).element_bytes for d in entry.dtypes]
        used = sorted({*read, *written})
        self._tiles = {k: f.stack(self._widths[k] * lanes * unroll) for k in used}
        self._repeats = {k: steps[k].equals(0) for k in read if k not in written}
        self._dense = {k: steps[k].equals(self._widths[k]) for k in used}
        self._at: Sequence[Value] = ()
        self._places: dict[int, Value] = {}
        self._steps = {
            k: f.select(self._dense[k], self._widths[k], f.integer(0)) for k in used
        }
        self._apart = {k: ~self._dense[k] for k in used}
        for k, repeats in self._repeats.items():
            self._apart[k] = ~(self._dense[k] | repeats)

    def are_dense(self) -> Value:
        """Whether only broadcast operands need copies."""
        result = self.function.constant(True, I1)
        for apart in self._apart.values():
            result = result & ~apart
        return result

    def begin_row(self, at: Sequence[Value]) -> None:
        """Continue with the rows at these addresses, one per operand."""
        f = self.function
        self._at = at
        for k in self._tiles:
            if k in self._repeats:
                f.branch(self._repeats[k], functools.partial(self._fill, k))
            self._places[k] = f.select(self._dense[k], at[k], self._tiles[k])

    def _fill(self, k: int) -> None:
        f = self.function
        raw = memory_type(self.entry.dtypes[k])
        vector = f.splat(f.load(self._at[k], raw), self.lanes)
        for part in range(self.unroll):
            f.store(vector, self._part(self._tiles[k], k, part))

    def _part(self, place: Value, k: int, part: int) -> Value:
        return self.function.offset(place, part * self.lanes * self._widths[k])

    def _place(self, k: int, index: Value, part: int) -> Value:
        """The address of the vector, or of its copy."""
        place = self.function.offset(self._places[k], index * self._steps[k])
        return self._part(place, k, part)

    def _copy(
        self, k: int, index: Value, part: int, left: Value | None, *, out: bool
    ) -> None:
        """Copy a vector of a strided operand into its tile, or back."""
        f = self.function
        apart = f.offset(self._at[k], (index + part * self.lanes) * self.steps[k])
        ends = [(apart, self.steps[k])]
        ends.append((self._part(self._tiles[k], k, part), f.integer(self._widths[k])))
        (source, source_step), (target, target_step) = ends[::-1] if out else ends
        count = f.integer(self.lanes) if left is None else left
        dtype = self.entry.dtypes[k]
        ends_and_steps = (source, source_step, target, target_step)
        copy_elements(f, dtype, self.lanes, *ends_and_steps, count)

    def load(
        self, k: int, index: Value, part: int, left: Value | None, *, copies: bool
    ) -> Value:
        """Vector ``part`` from element ``index`` on; ``left`` elements if given."""
        f, dtype = self.function, self.entry.dtypes[k]
        if copies:
            copy = functools.partial(self._copy, k, index, part, left, out=False)
            f.branch(self._apart[k], copy)
        place = self._place(k, index, part)
        return load_run(f, self.entry.target, place, dtype, self.lanes, left)

    def store(
        self,
        k: int,
        value: Value,
        index: Value,
        part: int,
        left: Value | None,
        *,
        copies: bool,
    ) -> None:
        """Store vector ``part`` from element ``index`` on, or ``left`` lanes of it."""
        f, dtype = self.function, self.entry.dtypes[k]
        store_run(f, self.entry.target, value, self._place(k, index, part), dtype, left)
        if copies:
            copy = functools.partial(self._copy, k, index, part, left, out=True)
            f.branch(self._apart[k], copy)


class Run:
    """Operands that are contiguous along the axis: ``Streams`` without the cases."""

    def __init__(self, entry: Entry, starts: Sequence[Value], lanes: int) -> None:
        self.entry, self.lanes, self._starts = entry, lanes, starts

    def _place(self, k: int, index: Value, part: int) -> Value:
        width = memory_type(self.entry.dtypes[k]).element_bytes
        place = self.entry.function.offset(self._starts[k], index * width)
        return self.entry.function.offset(place, part * self.lanes * width)

    def load(self, k: int, index: Value, part: int, left: Value | None) -> Value:
        """Vector ``part`` from element ``index`` on; ``left`` elements if given."""
        entry, place = self.entry, self._place(k, index, part)
        return load_run(
            entry.function, entry.target, place, entry.dtypes[k], self.lanes, left
        )

    def store(
        self, k: int, value: Value, index: Value, part: int, left: Value | None
    ) -> None:
        """Store vector ``part`` from element ``index`` on, or ``left`` lanes of it."""
        entry, place = self.entry, self._place(k, index, part)
        store_run(entry.function, entry.target, value, place, entry.dtypes[k], left)

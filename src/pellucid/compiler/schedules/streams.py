"""Inputs read in vectors along one axis, where each is dense or one repeated number.

Whether an input is dense is known at run time only. An input that repeats one number is
copied into a small tile once per row and read from there with step 0, so one loop
serves every mixture. Used by the schedules map, reduce and rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pellucid.compiler.builder import I1, Function, Value
from pellucid.compiler.formats import memory_type
from pellucid.compiler.schedules.access import Entry, load_run


class Streams:
    """The inputs that a body reads along an axis with the given strides."""

    def __init__(
        self,
        entry: Entry,
        used: Sequence[int],
        steps: Sequence[Value],
        lanes: int,
        unroll: int,
    ) -> None:
        self.entry, self.used, self.steps = entry, used, steps
        self.lanes, self.unroll = lanes, unroll
        f = entry.function
        self._widths = [memory_type(d).element_bytes for d in entry.dtypes]
        self._tiles = {k: f.stack(self._widths[k] * lanes * unroll) for k in self.used}
        self._repeats = {k: steps[k].equals(0) for k in self.used}
        self.places: dict[int, Value] = {}

    @property
    def function(self) -> Function:
        return self.entry.function

    def are_dense(self, *, or_repeated: bool) -> Value:
        """Whether every input is dense along the axis (or repeats one number)."""
        result = self.function.constant(True, I1)
        for k in self.used:
            fits = self.steps[k].equals(self._widths[k])
            result = result & (fits | self._repeats[k] if or_repeated else fits)
        return result

    def begin_row(self, at: Sequence[Value]) -> None:
        """Read from the rows that begin at these places, one per operand."""
        f = self.function
        for k in self.used:
            f.branch(self._repeats[k], functools.partial(self._fill, k, at[k]))
            self.places[k] = f.select(self._repeats[k], self._tiles[k], at[k])

    def _fill(self, k: int, source: Value) -> None:
        f = self.function
        raw = memory_type(self.entry.dtypes[k])
        vector = f.splat(f.load(source, raw), self.lanes)
        for part in range(self.unroll):
            place = f.offset(self._tiles[k], part * self.lanes * self._widths[k])
            f.store(vector, place)

    def load(self, k: int, index: Value, part: int, left: Value | None) -> Value:
        """Vector ``part`` from element ``index`` on; ``left`` elements if given."""
        f = self.function
        place = f.offset(self.places[k], index * self.steps[k])
        place = f.offset(place, part * self.lanes * self._widths[k])
        dtype = self.entry.dtypes[k]
        return load_run(f, self.entry.target, place, dtype, self.lanes, left)

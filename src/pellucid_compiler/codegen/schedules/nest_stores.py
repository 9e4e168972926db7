"""The stores of a nest: element by element, or an accumulator for all inner loops.

Called by ``nest.py``. Read next: ``loop_level.py``, which computes what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.formats import (
    constant,
    from_memory,
    is_unsigned,
    memory_type,
    register_type,
    to_memory,
)
from pellucid_compiler.codegen.kernel import Store
from pellucid_compiler.codegen.lowerings import LOWERINGS
from pellucid_compiler.codegen.schedules.access import store_run, store_under
from pellucid_compiler.codegen.schedules.loop_level import LoopLevel
from pellucid_compiler.codegen.schedules.nest_context import NestContext
from pellucid_compiler.codegen.schedules.nest_form import COMBINING_OPS
from pellucid_compiler.ir.dtypes import is_real_float
from pellucid_compiler.ir.primitives.loop import identity


class NestStores:
    """Writes the stores of a nest at a ``LoopLevel``."""

    def __init__(self, nest: NestContext) -> None:
        self.nest = nest
        self.function = nest.function

    def write_all(self, level: LoopLevel) -> None:
        """Write every store of the nest at this point, or vector of points."""
        for item in self.nest.stores:
            self._store(level, item)

    def open_element(self, level: LoopLevel) -> tuple[list[Value], list[Value]]:
        """The address of the inner loops' element in each output, and the initial
        accumulator.
        """
        (item,) = self.nest.stores
        mask = level.active(None, level.lanes)
        places = []
        for output in self.nest.outputs:
            place, inside = level.address(output, item.index, None, level.lanes)
            if self.nest.checks(output):
                level.require(inside, mask)
            places.append(place)
        f, form = self.function, self.nest.form
        if form.begins:
            dtype = self.nest.kernel.outputs[0]
            start = identity(form.combine, dtype)
            return places, [constant(f, start, dtype, level.lanes)]
        if self.nest.first_payload is None:
            return places, [self._current(places[0], mask, level.lanes)]
        dtype = item.value.dtype
        start = identity(form.combine, dtype)
        held = f.constant(start, register_type(dtype, level.lanes))
        return places, [held, level.value(self.nest.first_payload, None, level.lanes)]

    def close_element(
        self, level: LoopLevel, places: Sequence[Value], accumulator: Sequence[Value]
    ) -> None:
        """Store the inner loops' accumulator; of an argmax, the payload is first."""
        mask = level.active(None, level.lanes)
        dtypes = self.nest.kernel.outputs
        found = accumulator[::-1][: len(places)]
        for value, place, dtype in zip(found, places, dtypes, strict=True):
            self._write(value, place, mask, dtype)

    def combined(self, level: LoopLevel, accumulator: Sequence[Value]) -> list[Value]:
        """The accumulator with this point's value."""
        (item,) = self.nest.stores
        lanes = accumulator[0].type.lanes
        value = level.value(item.value, None, lanes)
        if self.nest.payload is None:
            return [self._combine(accumulator[0], value, self.nest.kernel.outputs[0])]
        payload = level.value(self.nest.payload, None, lanes)
        held, chosen = accumulator
        wins = self._wins(item.value.dtype, value, held)
        chosen = self.function.select(wins, payload, chosen)
        if self.nest.gives_best:  # the same values as in a max without payloads
            return [self._combine(held, value, item.value.dtype), chosen]
        return [self.function.select(wins, value, held), chosen]

    def _wins(self, dtype: str, value: Value, held: Value) -> Value:
        """Whether a value replaces the held one: NaN replaces any number."""
        f = self.function
        relation = "gt" if self.nest.form.combine == "argmax" else "lt"
        if is_real_float(dtype):
            better = f.compare(f"u{relation}", value, held)
            return better & f.compare("ord", held, held)
        unsigned = is_unsigned(dtype) or dtype == "bool"
        return f.compare(f"u{relation}" if unsigned else relation, value, held)

    def _store(self, level: LoopLevel, item: Store) -> None:
        f, nest, lanes = self.function, self.nest, level.lanes
        value = level.value(item.value, None, lanes)
        place, inside = level.address(nest.output, item.index, None, lanes)
        if item.drop:
            mask = level.active(inside, lanes)
            assert mask is not None
            if lanes == 1:
                f.branch(mask, lambda: self._put(value, place, None))
            else:
                self._put(value, place, mask)
            return
        if nest.checks(nest.output):
            level.require(inside, level.active(None, lanes))
        self._put(value, place, level.active(None, lanes))

    def _current(self, place: Value, mask: Value | None, lanes: int) -> Value:
        f, dtype = self.function, self.nest.kernel.outputs[0]
        raw = memory_type(dtype, lanes)
        if mask is None:
            f.touch(place, raw.element_bytes, "read_global")
            return from_memory(f, f.load(place, raw), dtype)
        return from_memory(f, f.masked_load(place, mask, f.constant(0, raw)), dtype)

    def _combine(self, old: Value, value: Value, dtype: str) -> Value:
        lower = LOWERINGS[COMBINING_OPS[self.nest.form.combine.removeprefix("arg")]]
        combined: Value = lower(self.function, dtype, old, value)
        return combined

    def _put(self, value: Value, place: Value, mask: Value | None) -> None:
        """Combine the value with the stored one, under the mask."""
        dtype = self.nest.kernel.outputs[0]
        if self.nest.form.combine != "assign":
            value = self._combine(
                self._current(place, mask, value.type.lanes), value, dtype
            )
        self._write(value, place, mask, dtype)

    def _write(
        self, value: Value, place: Value, mask: Value | None, dtype: str
    ) -> None:
        f = self.function
        if mask is None:
            f.touch(place, memory_type(dtype).element_bytes, "write_global")
            store_run(f, self.nest.entry.target, value, place, dtype)
        else:
            raw = to_memory(f, value, dtype)
            store_under(f, raw, place, mask)

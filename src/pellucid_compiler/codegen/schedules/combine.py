"""The combines of reductions: identities, one step on vectors, all lanes to one.

An accumulator is a tuple of vectors: one, or value and index for argmax and argmin.
Lanes are combined in a fixed tree of halves, so a result does not depend on where or
how often a kernel is called; ``loop_in_groups`` keeps the errors of float sums small.
Used by the schedules reduce, rows and scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pellucid_compiler.codegen.builder import I64, Function, Operand, Type, Value
from pellucid_compiler.codegen.formats import is_unsigned, register_type
from pellucid_compiler.codegen.lowerings import LOWERINGS
from pellucid_compiler.ir.dtypes import highest, is_real_float, lowest

_STEP = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
_STEP |= {"and": "and", "or": "or"}
_UNSEEN = (1 << 31) - 1
COMBINES = (*_STEP, "argmax", "argmin")

GROUP = 16
"""How many numbers a float sum accumulates before its accumulator is set aside."""


@dataclass(frozen=True)
class Combine:
    """How values of ``dtype`` are combined; bools are combined as bytes."""

    name: str
    dtype: str

    @property
    def is_indexed(self) -> bool:
        return self.name in ("argmax", "argmin")

    @property
    def width(self) -> int:
        """How many vectors an accumulator has."""
        return 2 if self.is_indexed else 1

    @property
    def rounds(self) -> bool:
        """Whether results are rounded, so that the order affects their error."""
        return self.name == "sum" and is_real_float(self.dtype)

    def _type(self, lanes: int) -> Type:
        if self.dtype == "bool":
            return Type("i8", lanes)
        return register_type(self.dtype, lanes)

    def _index_type(self, lanes: int) -> Type:
        return Type("i64" if self._type(1).element_bits == 64 else "i32", lanes)

    def identity(self, f: Function, lanes: int) -> list[Value]:
        """The accumulator of an empty set."""
        largest, least = highest(self.dtype), lowest(self.dtype)
        start = {
            "sum": 0, "or": 0, "prod": 1, "and": 1, "max": least, "argmax": least,
            "min": largest, "argmin": largest,
        }[self.name]  # fmt: skip
        value = f.constant(start, self._type(lanes))
        if self.is_indexed:
            return [value, f.constant(_UNSEEN, self._index_type(lanes))]
        return [value]

    def lift(self, f: Function, value: Value, index: Value | None) -> list[Value]:
        """The accumulator of one value per lane; ``index`` is lane 0's position."""
        if self.dtype == "bool":
            value = f.convert("zext", value, "i8")
        if index is None:
            return [value]
        type_ = self._index_type(value.type.lanes)
        if type_.element == "i32":
            index = f.convert("trunc", index, "i32")
        return [value, f.splat(index, type_.lanes) + f.lane_numbers(type_)]

    def step(
        self, f: Function, first: Sequence[Value], second: Sequence[Value]
    ) -> list[Value]:
        """Both accumulators in one; equal values keep the lower index."""
        if not self.is_indexed:
            dtype = "uint8" if self.dtype == "bool" else self.dtype
            return [LOWERINGS[_STEP[self.name]](f, dtype, first[0], second[0])]
        wins = self._wins(f, second, first)
        pairs = zip(second, first, strict=True)
        return [f.select(wins, a, b) for a, b in pairs]

    def _wins(
        self, f: Function, challenger: Sequence[Value], holder: Sequence[Value]
    ) -> Value:
        (value, index), (held, held_index) = challenger, holder
        relation = "gt" if self.name == "argmax" else "lt"
        unsigned = is_unsigned(self.dtype)
        better = f.compare(f"u{relation}" if unsigned else relation, value, held)
        tie = value.equals(held)
        if is_real_float(self.dtype):
            is_nan, held_nan = f.is_nan(value), f.is_nan(held)
            better = (better & ~held_nan) | (is_nan & ~held_nan)
            tie = tie | (is_nan & held_nan)
        return better | (tie & (index < held_index))

    def select(
        self, f: Function, mask: Value, new: Sequence[Value], old: Sequence[Value]
    ) -> list[Value]:
        """``new`` in the lanes under ``mask``."""
        return [f.select(mask, a, b) for a, b in zip(new, old, strict=True)]

    def across_lanes(self, f: Function, accumulator: Sequence[Value]) -> list[Value]:
        """One accumulator of one lane: the upper half is combined with the lower,
        repeatedly.
        """
        lanes = accumulator[0].type.lanes
        while lanes > 1:
            lanes //= 2
            low = [f.shuffle(v, None, range(lanes)) for v in accumulator]
            high = [f.shuffle(v, None, range(lanes, 2 * lanes)) for v in accumulator]
            accumulator = self.step(f, low, high)
        return list(accumulator)

    def tree(self, f: Function, many: Sequence[Sequence[Value]]) -> list[Value]:
        """Several accumulators in one: neighbours, then pairs of neighbours."""
        while len(many) > 1:
            many = [
                self.step(f, many[k], many[k + 1]) if k + 1 < len(many) else many[k]
                for k in range(0, len(many), 2)
            ]
        return list(many[0])

    def result(
        self, f: Function, accumulator: Sequence[Value], first_index: Value | None
    ) -> list[Value]:
        """The values to store, in register types: the value and the absolute index."""
        value = accumulator[0]
        if self.dtype == "bool":
            value = value.differs(0)
        if not self.is_indexed or first_index is None:
            return [value]
        index = f.convert("sext", accumulator[1], I64.element)
        return [value, index + f.splat(first_index, index.type.lanes)]


def loop_in_groups(
    f: Function,
    combines: Sequence[Combine],
    start: Sequence[Value],
    stop: Operand,
    step: int,
    body: Callable[[Value, list[Value]], list[Value]],
    *,
    others: Sequence[Value] | None = None,
    parts: int = 1,
    levels: int = 2,
) -> list[Value]:
    """One accumulator per combine after ``f.loop(0, stop, step, start * parts, body)``,
    combined with those of ``others``; ``start`` holds the combines' identities.

    If there is a float sum among them, the iterations run in groups of ``GROUP``, the
    groups again in groups, and each group is summed separately: the error of a sum
    grows with the length of its chains, and in ``GROUP ** levels`` iterations no chain
    is longer than ``GROUP``.
    """

    def one_each(accumulators: Sequence[Value]) -> list[Value]:
        found: list[Value] = []
        for combine in combines:
            starts = range(len(found), len(accumulators), len(start))
            many = [accumulators[k : k + combine.width] for k in starts]
            found += combine.tree(f, many)
        return found

    def pieces(
        first: Operand, end: Operand, carried: Sequence[Value], level: int
    ) -> list[Value]:
        """A range in pieces of ``GROUP ** level`` iterations, combined with
        ``carried``.
        """
        size, nested = step * GROUP**level, level < levels - 1

        def piece(index: Value, carried: list[Value]) -> list[Value]:
            last = f.minimum(index + size, end)
            return one_each([*carried, *pieces(index, last, start, level - 1)])

        if level:
            return f.loop(first, end, size, carried, piece, at_least_once=nested)
        carried = [*carried, *list(start) * (parts - 1)]
        return one_each(f.loop(first, end, size, carried, body, at_least_once=nested))

    if not any(combine.rounds for combine in combines):
        levels = 1
    return pieces(0, stop, start if others is None else others, levels - 1)

"""Products of tiles by a block of 256 threads, 16 by 16, through shared memory.

A thread has the elements of a tile at lines ``thread / 16`` and each 16th after it, and
at columns ``thread % 16`` and each 16th after it. Factors come in chunks of 16 along
the depth, so sums are in ascending order, by fused multiply-adds. Used by
``attention.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pellucid_compiler.codegen.builder import Operand, Type, Value
from pellucid_compiler.gpu.builder import GpuFunction

SIDE = 16
"""Threads along each side of a tile, and the depth of a chunk."""

Sums: TypeAlias = list[list[Value]]
"""A thread's elements of a tile, by line and column."""

Fetch: TypeAlias = Callable[[Value, Value, int], Value]
"""The element of a factor at a line of the tile and a place along the depth; the int is
which of the thread's lines it is, if it is one of them."""

Read: TypeAlias = Callable[[Value, Value], Value]
"""An element in shared memory, by line and place in the chunk."""


@dataclass(frozen=True)
class Chunk:
    """``lines`` by 16 elements in shared memory, each line a bank further."""

    f: GpuFunction
    memory: Value
    kind: Type

    @classmethod
    def make(cls, f: GpuFunction, lines: int, kind: Type) -> Chunk:
        return cls(f, f.shared(lines * (SIDE + 1) * kind.element_bytes), kind)

    def slot(self, line: Value, depth: Value) -> Value:
        place = line * (SIDE + 1) + depth
        return self.f.offset(self.memory, place * self.kind.element_bytes)

    def read(self, line: Value, depth: Value) -> Value:
        return self.f.read_shared(self.slot(line, depth), self.kind)

    def fill(self, lines: int, fetch: Fetch, *, lines_are_inner: bool = False) -> None:
        """Each thread writes a 256th; ``lines_are_inner``: neighbours in memory are
        those along the lines."""
        f, shift = self.f, lines.bit_length() - 1
        if not lines_are_inner:
            for part in range(lines // SIDE):
                line, depth = own_line(f) + part * SIDE, own_column(f)
                f.write_shared(fetch(line, depth, part), self.slot(line, depth))
            return

        def element(number: Value, _: list[Value]) -> None:
            line, depth = number & (lines - 1), f.binary("lshr", number, shift)
            f.write_shared(fetch(line, depth, 0), self.slot(line, depth))

        f.loop(f.thread(), lines * SIDE, SIDE * SIDE, [], element, at_least_once=True)


def own_line(f: GpuFunction) -> Value:
    return f.binary("lshr", f.thread(), 4)


def own_column(f: GpuFunction) -> Value:
    return f.thread() & (SIDE - 1)


def multiplied(
    f: GpuFunction,
    sums: Sums,
    depth: Operand,
    load: Callable[[Value], None],
    first: Callable[[Value], Read],
    second: Read,
) -> Sums:
    """``sums`` plus the product over ``depth``. ``load(k)`` fills the chunks from place
    ``k`` on; ``first(k)`` then reads the first factor's, ``second`` the other's."""
    row, column, width = own_line(f), own_column(f), len(sums[0])

    def chunk(start: Value, carried: list[Value]) -> list[Value]:
        f.barrier()  # the last readers are done
        load(start)
        f.barrier()
        of_first = first(start)

        def add(k: Value, found: list[Value]) -> list[Value]:
            a = [of_first(row + SIDE * i, k) for i in range(len(sums))]
            b = [second(column + SIDE * j, k) for j in range(width)]
            pairs = ((x, y) for x in a for y in b)
            return [f.fma(x, y, s) for (x, y), s in zip(pairs, found, strict=True)]

        return f.loop(0, SIDE, 1, carried, add, at_least_once=True)

    flat = f.loop(0, depth, SIDE, [s for line in sums for s in line], chunk)
    return [flat[k : k + width] for k in range(0, len(flat), width)]

"""The events of a log as columns: one NumPy array for each field.

A row is an event of any thread, in the order in which they began; a row's parent is a
row before it. Analyses of many events use whole arrays; `Log.event`
makes the object of one row. The layout is that of ``runtime/timeline/events.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LAYOUT = np.dtype(
    [
        *(("begin", "u8"), ("end", "u8"), ("what", "u8"), ("bytes", "i8")),
        *(("sequence", "i8"), ("extra", "u8"), ("parent", "u4"), ("line", "u4")),
        *(("facts", "u4"), ("kind", "u1"), ("flags", "u1"), ("detail", "u2")),
    ]
)
_NONE = 0xFFFFFFFF
_WORD = 8


class Columns:
    """``begin`` and ``end`` in nanoseconds; ``parent`` is a row, or -1; ``name`` a
    place in ``names``; ``thread`` a place in the log's threads.
    """

    def __init__(
        self,
        tables: Sequence[Array],
        facts: Sequence[bytes],
        clock: tuple[int, float, float],
        names: dict[tuple[int, int], str],
    ) -> None:
        table = np.concatenate([np.zeros(0, LAYOUT), *tables])
        sizes = [len(one) for one in tables]
        first = np.cumsum([0, *sizes])[:-1]
        thread = np.repeat(np.arange(len(tables)), sizes)
        # An event that was written late, as those of collections are, follows its
        # thread's events, so that parents come first.
        written = [np.maximum.accumulate(one["begin"]) for one in tables]
        moments = np.concatenate([table["begin"][:0], *written])
        row_of = np.arange(len(table))
        if (moments[1:] < moments[:-1]).any():  # several threads
            order = np.argsort(moments, kind="stable")
            row_of[order] = np.arange(len(table))
            table, thread = table[order], thread[order]
        self._facts, self.thread = facts, thread
        first_tick, start, rate = clock

        def nanoseconds(ticks: Array) -> Array:
            return start + (ticks.astype(np.int64) - first_tick) * rate

        self.begin = nanoseconds(table["begin"])
        self.end = nanoseconds(table["end"])
        self.kind, self.flags, self.detail = (
            table[field].copy() for field in ("kind", "flags", "detail")
        )
        self.bytes, self.sequence = table["bytes"].copy(), table["sequence"].copy()
        self.address, self.extra = table["what"].copy(), table["extra"].copy()
        self.line, self.facts = table["line"].copy(), table["facts"].copy()
        own = table["parent"].astype(np.int64)
        is_inner = own != _NONE
        self.parent = np.full(len(table), -1)
        places = own[is_inner] + first[self.thread[is_inner]]
        self.parent[is_inner] = row_of[places]
        self.names = ["", *dict.fromkeys(names.values())]
        self.name = self._named(names)

    def __len__(self) -> int:
        return len(self.kind)

    def _named(self, names: dict[tuple[int, int], str]) -> Array:
        numbers = {name: number for number, name in enumerate(self.names)}
        found = np.zeros(len(self), np.int64)
        for kind in {kind for kind, _ in names}:
            rows = self.rows_of(kind)
            what, inverse = np.unique(self.address[rows], return_inverse=True)
            own = [numbers[names.get((kind, one), "")] for one in what.tolist()]
            found[rows] = np.array(own, np.int64)[inverse]
        return found

    def rows_of(self, *kinds: int) -> Array:
        """The rows of these kinds."""
        return np.flatnonzero(np.isin(self.kind, kinds))

    def is_named(self, kind: int, prefix: str) -> Array:
        """Of each row, whether it has this kind and a name that begins so."""
        wanted = [n for n, name in enumerate(self.names) if name.startswith(prefix)]
        found = np.zeros(len(self), bool)
        rows = self.rows_of(kind)
        found[rows] = np.isin(self.name[rows], wanted)
        return found

    def nearest(self, rows: Array, wanted: Array) -> Array:
        """For each row the innermost of itself and the rows around it that is wanted,
        a truth value for each row of the log; -1 where none is. A row of -1 stays.
        """
        found = rows.copy()
        left = np.arange(len(rows))
        while True:
            left = left[(found[left] >= 0)]
            left = left[~wanted[found[left]]]
            if not len(left):
                return found
            found[left] = self.parent[found[left]]

    @cached_property
    def arguments(self) -> tuple[Array, list[bytes]]:
        """A number of each row's arguments, equal for equal ones, -1 without; and the
        words of each number (``core/call_event.cpp``).
        """
        numbers = np.full(len(self), -1)
        known: dict[bytes, int] = {}
        for thread, data in enumerate(self._facts):
            rows = np.flatnonzero((self.facts > 0) & (self.thread == thread))
            places, inverse = np.unique(self.facts[rows], return_inverse=True)
            places = places.astype(np.int64)
            counts = np.frombuffer(data, np.uint64)[places].astype(np.int64)
            begins, ends = (places + 1) * _WORD, (places + counts) * _WORD
            own = [
                known.setdefault(data[begin:end], len(known))
                for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
            ]
            numbers[rows] = np.array(own, np.int64)[inverse]
        return numbers, list(known)


def grouped(*keys: Array) -> tuple[Array, list[Array]]:
    """Of rows by several columns: the group of each row, and the places of each group,
    the groups in the order in which they first occur.
    """
    number, count = np.zeros(len(keys[0]), np.int64), 1
    for key in keys:
        dense, size = _dense(key)
        number, count = _dense(number * size + dense)
    first = np.empty(count, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    number = rank[number] if len(first) else number
    places = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(first)))
    return number, np.split(places, ends[:-1]) if len(first) else []


def _dense(values: Array) -> tuple[Array, int]:
    """Numbers from 0, in the order of the values, and how many; without sorting where
    the values' range allows.
    """
    if not len(values):
        return values.astype(np.int64), 0
    least = int(values.min())
    extent = int(values.max()) - least + 1
    if extent > 4 * len(values):
        known, number = np.unique(values, return_inverse=True)
        return number, len(known)
    offsets = values.astype(np.int64) - least
    is_known = np.zeros(extent, bool)
    is_known[offsets] = True
    numbers = np.cumsum(is_known) - 1
    return numbers[offsets], int(numbers[-1]) + 1

"""Static and dynamic numbers and sizes of compiled graphs.

The first graph of a structure is specialised to the sizes and numbers of its call. If a
later call differs in some, the next graph makes them dynamic (*open*). Open sizes need
no input, since ops read them from their tensors; open numbers, which programs compute
from sizes, are inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

_SMALLEST = 2  # sizes and ints that may be open: ops treat 0 and 1 specially


class Pattern(NamedTuple):
    """The requirements on a call: ``sizes`` with None if open, ``numbers`` as fixed
    values or, if open, the Slot that they fill.
    """

    sizes: tuple[int | None, ...]
    numbers: tuple[Any, ...]
    num_slots: int

    def slots(
        self, sizes: Sequence[int], numbers: Sequence[int | float]
    ) -> list[int | float] | None:
        """The values of the slots for a call, or None if it does not match."""
        for fixed, size in zip(self.sizes, sizes, strict=True):
            if size != fixed and (fixed is not None or size < _SMALLEST):
                return None
        values: list[Any] = [None] * self.num_slots
        for own, number in zip(self.numbers, numbers, strict=True):
            if type(own) is not Slot:
                if not _is_same(own, number):
                    return None
            elif values[own.place] is None:
                values[own.place] = number
            elif not _is_same(values[own.place], number):
                return None
        return values


class Slot(NamedTuple):
    """An open number."""

    place: int


def fixed(sizes: Sequence[int], numbers: Sequence[int | float]) -> Pattern:
    """The fully static pattern of one call."""
    return Pattern(tuple(sizes), tuple(numbers), 0)


def open_sizes(
    sizes: Sequence[int], numbers: Sequence[int | float], is_open: Sequence[bool]
) -> Pattern:
    """The pattern with these sizes open, and the ints that are multiples of one of
    them."""
    own = [
        None if o and s >= _SMALLEST else s for s, o in zip(sizes, is_open, strict=True)
    ]
    varying = {s for s, kept in zip(sizes, own, strict=True) if kept is None}

    def is_multiple(number: int | float) -> bool:
        return type(number) is int and any(
            number >= size and number % size == 0 for size in varying
        )

    slots: dict[Any, Slot] = {}
    found = [
        slots.setdefault(number, Slot(len(slots))) if is_multiple(number) else number
        for number in numbers
    ]
    return Pattern(tuple(own), tuple(found), len(slots))


def widen(
    before: Pattern,
    last: tuple[Sequence[int], Sequence[int | float]],
    sizes: Sequence[int],
    numbers: Sequence[int | float],
) -> Pattern:
    """Open where ``before`` is open, and where the call differs from the ``last``
    one.
    """
    own_sizes = tuple(
        None if b >= _SMALLEST and (kept is None or (a != b and a >= _SMALLEST)) else b
        for kept, a, b in zip(before.sizes, last[0], sizes, strict=True)
    )
    slots: dict[Any, Slot] = {}
    found: list[Any] = []
    for kept, a, b in zip(before.numbers, last[1], numbers, strict=True):
        differs = type(kept) is Slot or not _is_same(a, b)
        if differs and (type(b) is float or min(a, b) >= _SMALLEST):
            found.append(slots.setdefault((repr(a), repr(b)), Slot(len(slots))))
        else:
            found.append(b)
    return Pattern(own_sizes, tuple(found), len(slots))


def _is_same(a: int | float, b: int | float) -> bool:
    return type(a) is type(b) and (a == b or a != a) and repr(a) == repr(b)

"""``Reads``: the numbers that a program reads from tensors without data.

A FakeTensorMode with a ShapeEnv gives a symbol for each: ``u0`` for an integer,
``zuf0`` for a float. A program that is traced several times reads other numbers each
time, so that what depends on them can be told (``fx/experimental/traced_reads.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pellucid
from pellucid.utils._symbolic.environment import INFINITY, ShapeEnv, Symbol
from pellucid.utils._symbolic.numbers import SymFloat, condition, make

_TYPICAL = 2  # an integer of which nothing is known; 0 and 1 are special as sizes


class Reads:
    """The symbols of what is read, in order; the same ones in each run."""

    are_repeated = False  # whether the program runs again with other numbers

    def __init__(self, env: ShapeEnv) -> None:
        self.env = env
        self.symbols: list[Symbol] = []
        self.reals: list[float] = []
        self.is_exact = False  # whether examples are taken even where they are 0 or 1
        self.is_altered = False  # whether one of them was not
        self._limits: dict[int, int] = {}
        self._begun: set[str] = set()  # what this run has read
        self._integers = self._floats = 0

    def begin(self, point: Mapping[str, int], run: int) -> None:
        """Starts a run, in which symbols have these values."""
        self.env.run = run
        self._integers = self._floats = 0
        self._begun.clear()
        self.env.point, self.env.is_unmet, self.env.is_moved = point, False, False
        self.env.deferred.clear()
        self.env.floats.clear()
        self.env.computed.clear()

    @contextmanager
    def again(self) -> Iterator[None]:
        """A scope whose reads are made again after it."""
        before = self._integers, self._floats
        try:
            yield
        finally:
            self._integers, self._floats = before

    def restart(self) -> None:
        """Forgets all, and takes the example's numbers as they are from now on."""
        self.symbols, self.reals, self.is_exact = [], [], True

    def number(self, tensor: Any) -> Any:
        """The one element of a tensor, as a SymInt, SymFloat or SymBool."""
        if tensor.is_floating_point():
            return self._float(lambda: self.example(tensor))
        if tensor.is_complex():
            self.env.refuse("a complex number")
        if tensor.dtype == pellucid.bool:
            return condition(self.integer(lambda: self.example(tensor), 0, 1), "==", 1)
        return self.integer(lambda: self.example(tensor))

    def example(self, tensor: Any) -> Any:
        """The element in the example, or None."""
        return None

    def example_of(self, function: Any, args: Any, kwargs: Any) -> Any:
        """What a call gives in the example, or None."""
        return None

    def integer(
        self, example: Any, lower: int = -INFINITY, upper: int = INFINITY
    ) -> Any:
        """The next integer, in this range. ``example()``: the example's, or None."""
        index, self._integers = self._integers, self._integers + 1
        if index == len(self.symbols):
            found = example()
            hint = min(max(_TYPICAL, lower), upper) if found is None else int(found)
            if hint in (0, 1) and upper > 1 and not self.is_exact:
                hint, self.is_altered = _TYPICAL, True
            made = self.env.new_unbacked(hint, is_invented=found is None)
            self.symbols.append(made)
        symbol = self.symbols[index]
        if symbol.name not in self._begun:
            self._begun.add(symbol.name)
            if self._limits.setdefault(index, upper) != upper:
                self._limits[index] = INFINITY  # it depends on a size
            symbol.lower, symbol.upper = lower, self._limits[index]
        value = self.env.point.get(symbol.name, symbol.hint)
        return make(symbol.expr, self.env, value)

    def _float(self, example: Any) -> SymFloat:
        index, self._floats = self._floats, self._floats + 1
        if index == len(self.reals):
            found = example()
            self.reals.append(index + 0.25 if found is None else float(found))
        return SymFloat.of(self.reals[index], self.env, "symbol", f"zuf{index}")

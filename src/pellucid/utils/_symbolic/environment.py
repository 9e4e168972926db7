"""``ShapeEnv``: the symbols of a trace, their ranges, and the guards of the trace."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from pellucid.utils._symbolic.expressions import Expr
from pellucid.utils._symbolic.numbers import SymInt, expression_of, make

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
INFINITY = sys.maxsize - 1  # the greatest size that a range without a maximum allows


@dataclass(eq=False)
class Symbol:
    """An unknown size: the example's value, its source, its range."""

    name: str
    hint: int
    source: str
    lower: int = 0
    upper: int = INFINITY
    is_optional: bool = False  # becomes a number if specialised
    is_inferred: bool = False  # equals another one where the program needs that

    @property
    def expr(self) -> Expr:
        """The symbol as an expression."""
        return Expr.symbol(self.name)

    @property
    def root(self) -> Symbol:
        """The symbol itself: see ``DerivedSize``."""
        return self


@dataclass(frozen=True)
class DerivedSize:
    """A size that is ``factor * root + offset``."""

    root: Symbol
    factor: int
    offset: int

    @property
    def name(self) -> str:
        """The range of the root."""
        return self.root.name

    @property
    def expr(self) -> Expr:
        """The size as an expression of the root."""
        return Expr.constant(self.factor) * self.root.expr + Expr.constant(self.offset)

    @property
    def hint(self) -> int:
        """The example's value."""
        return self.factor * self.root.hint + self.offset


@dataclass
class Guard:
    """A guard: a condition on which the program's path depends, and its source line."""

    left: Expr
    sign: str
    right: Expr
    place: str
    stack: list[str] = field(default_factory=list)

    def holds(self, of_symbol: dict[str, int]) -> bool:
        """Whether it is true for numbers of the symbols."""
        a, b = self.left.value(of_symbol), self.right.value(of_symbol)
        return {
            "==": a == b,
            "!=": a != b,
            "<": a < b,
            "<=": a <= b,
            ">": a > b,
            ">=": a >= b,
        }[self.sign]

    @property
    def expr(self) -> str:
        """The condition's text."""
        return str(self)

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


class ShapeEnv:
    """Creates symbols and records guards on them."""

    def __init__(self, **settings: Any) -> None:
        self.symbols: dict[str, Symbol] = {}
        self.guards: list[Guard] = []
        self.plain_uses: list[str] = []  # where a size became a number
        self._seen: set[str] = set()
        self._is_noting = True
        self.settings = settings

    @property
    def var_to_val(self) -> dict[str, int]:
        """The example's value of each symbol."""
        return {name: symbol.hint for name, symbol in self.symbols.items()}

    @property
    def var_to_range(self) -> dict[str, tuple[int, int]]:
        """The range of each symbol."""
        return {name: (s.lower, s.upper) for name, s in self.symbols.items()}

    def new_symbol(
        self,
        hint: int,
        source: str,
        lower: int = 0,
        upper: int = INFINITY,
        name: str | None = None,
    ) -> Symbol:
        """A new symbol, ``s0``, ``s1``, ... or of this name."""
        name = name or f"s{len(self.symbols)}"
        made = self.symbols[name] = Symbol(name, hint, source, lower, upper)
        return made

    def create_unbacked_symint(self) -> Any:
        """Refused: the size must be known from inputs."""
        raise NotImplementedError(
            "sizes that depend on values have no symbols: pad to a fixed size, or give "
            "the size as an argument"
        )

    def int_of(self, symbol: Symbol | DerivedSize) -> Any:
        """The size as a SymInt."""
        return make(symbol.expr, self, symbol.hint)

    def of(self, expr: Expr) -> Any:
        """An expression of its symbols as a SymInt."""
        return make(expr, self, expr.value(self.var_to_val))

    def note(self, left: Expr, sign: str, right: Any, answer: bool) -> None:
        """Records the result of a comparison as a guard; called by SymInt."""
        if not self._is_noting:
            return
        sign = sign if answer else _OPPOSITE[sign]
        guard = Guard(left, sign, expression_of(right), "")
        if str(guard) in self._seen:
            return
        self._seen.add(str(guard))
        guard.place, guard.stack = where()
        self.guards.append(guard)

    def forget_guards(self) -> None:
        """For another trace."""
        self.guards.clear()
        self._seen.clear()

    def note_plain(self, frame: FrameType) -> None:
        """Records that the program uses a size as a plain number; called by SymInt."""
        path, number = frame.f_code.co_filename, frame.f_lineno
        line = linecache.getline(path, number).strip()
        place = f"{path}:{number} in {frame.f_code.co_name}: {line}"
        if self._is_noting and place not in self.plain_uses:
            self.plain_uses.append(place)

    @contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """For compatibility with PyTorch; there are no such symbols."""
        yield

    @contextmanager
    def suppress_guards(self) -> Iterator[None]:
        """A scope in which comparisons record no guards."""
        before, self._is_noting = self._is_noting, False
        try:
            yield
        finally:
            self._is_noting = before

    def evaluate_expr(self, value: Any) -> Any:
        """The example's value."""
        return int(value) if isinstance(value, SymInt) else value

    def format_guards(self, verbose: bool = False) -> str:
        """The guards, one per line."""
        return "\n".join(
            f" - {guard}" + (f" at {guard.place}" if verbose else "")
            for guard in self.guards
        )


def where() -> tuple[str, list[str]]:
    """The user's line: the innermost frame outside this package."""
    stack = [f for f in traceback.extract_stack() if "/_symbolic/" not in f.filename]
    own = [f for f in stack if "/pellucid/" not in f.filename and f.filename[0] != "<"]
    frame = (own or stack)[-1]
    place = f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    return place, traceback.format_list(stack)

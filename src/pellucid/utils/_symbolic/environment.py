"""``ShapeEnv``: the symbols of a trace, their ranges, and the guards of the trace."""

from __future__ import annotations

import linecache
import math
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn

from pellucid.utils._symbolic.expressions import Atom, Expr
from pellucid.utils._symbolic.numbers import (
    SymFloat,
    SymInt,
    expression_of,
    is_of_program,
    make,
)

_MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
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
    is_unbacked: bool = False  # the program reads it from a tensor
    is_invented: bool = False  # no example tells ``hint``

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


class GuardOnDataDependentSymNode(RuntimeError):
    """A program decides by a number that it reads from a tensor."""


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

    def opposite(self) -> Guard:
        """The condition that holds where this one does not."""
        sign = _OPPOSITE[self.sign]
        return Guard(self.left, sign, self.right, self.place, self.stack)

    @property
    def free_symbols(self) -> set[str]:
        """The names of the symbols that occur."""
        return self.left.free_symbols | self.right.free_symbols

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
        self.deferred: list[Guard] = []  # on numbers that are read: checked in a run
        self.floats: list[SymFloat] = []  # read, or computed from such, in order
        self.computed: dict[Expr, None] = {}  # integers computed from such
        self.run = 0  # the number of this run of the program
        self.point: Mapping[str, int] = {}  # the values in this run, if not the hints
        self.is_unmet = False  # whether one of these is not what the program requires
        self.is_moved = False  # whether an invented hint changed in this run

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

    def new_unbacked(self, hint: int, *, is_invented: bool) -> Symbol:
        """A symbol, ``u0``, ``u1``, ..., for a number that is read from a tensor."""
        count = sum(symbol.is_unbacked for symbol in self.symbols.values())
        source = "a number that is read"
        made = self.new_symbol(hint, source, -INFINITY, name=f"u{count}")
        made.is_unbacked, made.is_invented = True, is_invented
        return made

    def create_unbacked_symint(self) -> Any:
        """A number that no input has; an example is 2."""
        return self.int_of(self.new_unbacked(2, is_invented=True))

    def create_unbacked_symfloat(self) -> Any:
        """Like ``create_unbacked_symint``, a float."""
        count = sum(made.operands[0] == "symbol" for made in self.floats)
        return SymFloat.of(0.5, self, "symbol", f"zuf{count}")

    def is_unbacked(self, expr: Expr) -> bool:
        """Whether a number that is read occurs in the expression."""
        return any(
            name in self.symbols and self.symbols[name].is_unbacked
            for name in expr.free_symbols
        )

    def condition(self, left: Expr, sign: str, right: Any) -> Guard:
        """The condition, at the program's line."""
        return Guard(left, sign, expression_of(right), *where())

    def decided(self, guard: Guard) -> bool | None:
        """Whether it holds by the ranges and by what was required; None if open."""
        if any(str(guard) == str(known) for known in self.deferred):
            return True
        if any(str(guard.opposite()) == str(known) for known in self.deferred):
            return False
        low, high = self.bounds(guard.left - guard.right)
        if guard.sign in ("==", "!="):
            answer = False if low > 0 or high < 0 else None
            answer = True if low == high == 0 else answer
            return answer if guard.sign == "==" or answer is None else not answer
        if guard.sign in (">", "<="):
            answer = True if low > 0 else False if high <= 0 else None
            return answer if guard.sign == ">" or answer is None else not answer
        answer = True if high < 0 else False if low >= 0 else None
        return answer if guard.sign == "<" or answer is None else not answer

    def bounds(self, expr: Expr) -> tuple[float, float]:
        """The least and the greatest value in the ranges of the symbols."""
        return expr.bounds(
            {
                name: (
                    -math.inf if s.lower <= -INFINITY else s.lower,
                    math.inf if s.upper >= INFINITY else s.upper,
                )
                for name, s in self.symbols.items()
            }
        )

    def require(self, guard: Guard) -> bool:
        """Narrows ranges so that it holds, or defers it to the run of the graph; False
        if it does not hold in this run. A hint that was invented moves with its range.
        """
        holds = guard.holds({**self.var_to_val, **self.point})
        if holds and self.decided(guard):
            return True
        symbol, lower, upper = self._narrowed(guard)
        is_free = symbol and symbol.is_invented and symbol.name not in self.point
        if not holds and not (is_free and lower <= upper):
            self.is_unmet = True
            return False
        if symbol is None:
            self.deferred.append(guard)
            return True
        symbol.lower, symbol.upper = lower, upper
        if not holds:
            symbol.hint, self.is_moved = min(max(symbol.hint, lower), upper), True
        return True

    def _narrowed(self, guard: Guard) -> tuple[Symbol | None, int, int]:
        """The symbol that the condition limits, and its new range; or None."""
        difference = guard.left - guard.right
        names = sorted(difference.free_symbols)
        factor = difference.terms.get((Atom(names[0]),)) if len(names) == 1 else None
        if factor not in (1, -1) or len(difference.terms) > 2 or guard.sign == "!=":
            return None, 0, 0
        limit = -factor * difference.terms.get((), 0)
        sign = guard.sign if factor == 1 else _MIRRORED[guard.sign]
        symbol = self.symbols[names[0]]
        lower, upper = symbol.lower, symbol.upper
        if sign in ("==", ">", ">="):
            lower = max(lower, limit + (sign == ">"))
        if sign in ("==", "<", "<="):
            upper = min(upper, limit - (sign == "<"))
        return symbol, lower, upper

    def refuse(self, what: str) -> NoReturn:
        """Raises GuardOnDataDependentSymNode at the program's line."""
        raise GuardOnDataDependentSymNode(
            f"Could not guard on data-dependent expression: the program needs {what}, "
            f"which is read from a tensor, at\n    {where()[0]}\n"
            "torch._check tells what always holds; torch.cond and torch.where compute "
            "both"
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

    def forget_reads(self) -> None:
        """For a trace that reads other numbers from tensors."""
        self.symbols = {n: s for n, s in self.symbols.items() if not s.is_unbacked}
        self.deferred.clear()
        self.floats.clear()
        self.computed.clear()

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
        """For compatibility: symbols need no binding to a result."""
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
    own = [f for f in stack if is_of_program(f.filename) and f.filename[0] != "<"]
    frame = (own or stack)[-1]
    place = f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    return place, traceback.format_list(stack)

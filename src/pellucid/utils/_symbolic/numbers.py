"""``SymInt``: a size with its expression.

It is an int, the size of the example. Arithmetic with it gives SymInts, and a
comparison in the program is recorded with its source line as a guard of the trace
(``environment.py``). A number that the program reads from a tensor is unbacked: a
comparison with it is a ``SymBool``, which is True or False only where the ranges
decide. ``SymFloat`` is a float that the program read, or computed from such.
"""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import pellucid
from pellucid._package.calls import offered
from pellucid.utils._symbolic.expressions import Expr

if TYPE_CHECKING:
    from pellucid.utils._symbolic.environment import Guard, ShapeEnv


class SymNode:
    """The data of a SymInt: its expression, the example's value, its environment."""

    def __init__(self, expr: Expr, shape_env: ShapeEnv, hint: int) -> None:
        self.expr, self.shape_env, self.hint = expr, shape_env, hint

    def __str__(self) -> str:
        return str(self.expr)

    @property
    def pytype(self) -> type:
        """int"""
        return int

    def is_symbolic(self) -> bool:
        """Whether a symbol occurs in it."""
        return not self.expr.is_number

    def is_unbacked(self) -> bool:
        """Whether it depends on a number that the program reads from a tensor."""
        return self.shape_env.is_unbacked(self.expr)


@offered.value
class SymInt(int):
    """An int with an expression: ``x.shape[0]`` while sizes are traced."""

    node: SymNode

    def __new__(cls, node: SymNode) -> SymInt:
        made = super().__new__(cls, node.hint)
        made.node = node
        return made

    def __repr__(self) -> str:
        return str(self.node.expr)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(str(self) if not spec else int(self), spec)

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> SymInt:
        return self

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return int, (int(self),)

    def __bool__(self) -> bool:
        return bool(condition(self, "!=", 0))

    def __int__(self) -> int:
        self._note_plain()
        return self.node.hint

    def __float__(self) -> float:
        self._note_plain()
        return float(self.node.hint)

    def __truediv__(self, other: Any) -> Any:
        if is_read(self) and isinstance(other, int | float):
            return recorded("truediv", self, other)
        self._note_plain()
        return int.__truediv__(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if is_read(self) and isinstance(other, int | float):
            return recorded("truediv", other, self)
        self._note_plain()
        return int.__rtruediv__(self, other)

    def _note_plain(self) -> None:
        """Converts to a plain number: decisions based on it are not recorded, the
        conversion is."""
        asking = sys._getframe(2)
        if is_program(asking):
            if self.node.is_unbacked():
                self.node.shape_env.refuse(f"its value, {self}, as a plain number")
            self.node.shape_env.note_plain(asking)

    def __neg__(self) -> Any:
        return 0 - self

    def __pos__(self) -> Any:
        return self

    conjugate = __floor__ = __ceil__ = __trunc__ = __pos__
    real = numerator = property(__pos__)

    def __round__(self, digits: Any = None) -> Any:
        if digits is None or digits >= 0:
            return self
        self._note_plain()
        return int.__round__(self, digits)

    def __invert__(self) -> Any:
        return -1 - self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is None and type(other) is int and 0 <= other <= 4:
            result: Any = 1
            for _ in range(other):
                result = self * result
            return result
        self._note_plain()
        return pow(int(self), other, modulus)


def expression_of(value: Any) -> Expr:
    """The expression of a SymInt or int."""
    if isinstance(value, SymInt):
        return value.node.expr
    return Expr.constant(int(value))


def make(expr: Expr, shape_env: ShapeEnv, hint: int) -> Any:
    """A SymInt, or an int where no symbol occurs."""
    if expr.is_number:
        return expr.value({})
    return SymInt(SymNode(expr, shape_env, hint))


def _arithmetic(name: str) -> None:
    compute: Callable[[Any, Any], Any] = getattr(operator, name)
    plain = getattr(int, f"__{name}__")

    def combine(left: Any, right: Any) -> Any:
        hint = compute(int(left), int(right))
        node = (left if isinstance(left, SymInt) else right).node
        expr = compute(expression_of(left), expression_of(right))
        if node.shape_env.is_unbacked(expr):
            node.shape_env.computed[expr] = None
        return make(expr, node.shape_env, hint)

    def forward(self: SymInt, other: Any) -> Any:
        if not isinstance(other, int):
            is_float = type(other) is float and is_read(self)
            return recorded(name, self, other) if is_float else plain(self, other)
        return combine(self, other)

    def reflected(self: SymInt, other: Any) -> Any:
        if not isinstance(other, int):
            is_float = type(other) is float and is_read(self)
            return recorded(name, other, self) if is_float else NotImplemented
        return combine(other, self)

    setattr(SymInt, f"__{name}__", forward)
    setattr(SymInt, f"__r{name}__", reflected)


def _comparison(name: str, sign: str) -> None:
    plain = getattr(int, f"__{name}__")

    def compare(self: SymInt, other: Any) -> Any:
        answer = plain(self, other)
        if answer is not NotImplemented and isinstance(other, int):
            difference = self.node.expr - expression_of(other)
            if self.node.shape_env.is_unbacked(difference):
                return condition(self, sign, other) if _is_called() else answer
            if not difference.is_number:
                self.node.shape_env.note(self.node.expr, sign, other, bool(answer))
        return answer

    setattr(SymInt, f"__{name}__", compare)


def _takes_value(kind: type, name: str) -> None:
    """The method of int or float reads the value, from which more may be decided."""
    plain = getattr(kind, name)

    def take(self: Any, *others: Any) -> Any:
        self._note_plain()
        return plain(self, *others)

    setattr(SymInt if kind is int else SymFloat, name, take)


_PACKAGES = os.path.dirname(os.path.dirname(str(pellucid.__file__)))
_FOLDERS = tuple(
    os.path.join(_PACKAGES, name, "") for name in ("pellucid", "pellucid_compiler")
)


def is_program(frame: FrameType) -> bool:
    """Whether it is the traced program that runs, not this package for it."""
    return is_of_program(frame.f_code.co_filename)


def is_of_program(path: str) -> bool:
    """Whether a file of code is not one of this package and its engine."""
    return not path.startswith(_FOLDERS)


def _is_called() -> bool:
    return is_program(sys._getframe(2))


def condition(left: Any, sign: str, right: Any) -> Any:
    """``left sign right``: a SymBool where a number that was read decides."""
    for number in (left, right):
        if isinstance(number, SymInt) and number.node.is_unbacked():
            env = number.node.shape_env
            return SymBool(env.condition(expression_of(left), sign, right), env)
    return COMPARISONS[sign](left, right)


@offered.value
class SymBool:
    """A condition on numbers that the program reads from tensors.

    ``bool`` of it raises GuardOnDataDependentSymNode, unless the ranges decide.
    """

    def __init__(self, guard: Guard, shape_env: ShapeEnv) -> None:
        self.guard, self.shape_env = guard, shape_env

    @property
    def node(self) -> SymBool:
        """Itself: its condition is ``expr``, its environment ``shape_env``."""
        return self

    @property
    def expr(self) -> str:
        """The condition's text."""
        return str(self.guard)

    def decided(self) -> bool | None:
        """Whether it holds by what is known; None if open."""
        return self.shape_env.decided(self.guard)

    def require(self) -> bool:
        """Makes it hold from now on; False if it does not hold in this run."""
        return self.shape_env.require(self.guard)

    def __bool__(self) -> bool:
        answer = self.decided()
        if answer is None:
            self.shape_env.refuse(f"the condition {self}")
        return answer

    def __invert__(self) -> SymBool:
        return SymBool(self.guard.opposite(), self.shape_env)

    def __and__(self, other: Any) -> Any:
        if isinstance(other, SymBool):
            return _Both(self, other)
        return (self if other else other) if isinstance(other, bool) else NotImplemented

    def __or__(self, other: Any) -> Any:
        if isinstance(other, SymBool | bool):
            opposite = ~other if isinstance(other, SymBool) else not other
            both = ~self & opposite
            return ~both if isinstance(both, SymBool) else not both
        return NotImplemented

    __rand__, __ror__ = __and__, __or__

    def __repr__(self) -> str:
        return str(self.guard)


class _Both(SymBool):
    """``left & right``, or with ``is_negated`` its opposite."""

    def __init__(
        self, left: SymBool, right: SymBool, *, is_negated: bool = False
    ) -> None:
        self.parts, self.is_negated = (left, right), is_negated
        self.shape_env = left.shape_env

    @property
    def expr(self) -> str:
        return str(self)

    def decided(self) -> bool | None:
        answers = [part.decided() for part in self.parts]
        answer = False if False in answers else None if None in answers else True
        return answer if answer is None else answer is not self.is_negated

    def require(self) -> bool:
        if not self.is_negated:
            return all([part.require() for part in self.parts])
        for part, other in (self.parts, self.parts[::-1]):
            if part.decided():
                return (~other).require()
        return bool(self)

    def __invert__(self) -> SymBool:
        return _Both(*self.parts, is_negated=not self.is_negated)

    def __repr__(self) -> str:
        left, right = (~p if self.is_negated else p for p in self.parts)
        return f"({left}) {'|' if self.is_negated else '&'} ({right})"


@offered.value
class SymFloat(float):
    """A float that the program read from a tensor or computed from one: a call of
    ``operator`` with operands, or a symbol alone.
    """

    shape_env: ShapeEnv
    operands: tuple[Any, ...]

    @staticmethod
    def of(value: float, env: ShapeEnv, operator_name: Any, *operands: Any) -> SymFloat:
        """A float that is computed so; ``env`` knows it from now on."""
        if isinstance(value, complex):
            env.refuse("a complex number")
        # Runs tell floats apart by their values, so each run moves each by its own step
        value = float(value) if math.isfinite(value) else 0.0
        step = Random(len(env.floats) << 32 | env.run).random() if env.run else 0.0
        made = SymFloat(value + (abs(value) + 1) * step * _MOST_STEP)
        made.shape_env, made.operands = env, (operator_name, *operands)
        env.floats.append(made)
        return made

    def refuse_plain(self) -> NoReturn:
        """Raises GuardOnDataDependentSymNode: its value is not known."""
        self.shape_env.refuse(f"its value, {self!r}, as a plain number")

    def _note_plain(self) -> None:
        if is_program(sys._getframe(2)):
            self.refuse_plain()

    def __bool__(self) -> bool:
        self.shape_env.refuse(f"the condition {self!r} != 0")

    def __pos__(self) -> SymFloat:
        return self

    conjugate = __pos__
    real = property(__pos__)

    def __repr__(self) -> str:
        name, *operands = self.operands
        if name == "symbol":
            return str(operands[0])
        return f"{function_of(name).__name__}{tuple(operands)}"

    __hash__ = float.__hash__


def is_read(number: Any) -> bool:
    """Whether it depends on a number that the program reads from a tensor."""
    if isinstance(number, SymInt):
        return number.node.is_unbacked()
    return isinstance(number, SymFloat)


def recorded(name: Any, *operands: Any) -> SymFloat:
    """A float computed by ``function_of(name)`` from numbers of which one is read."""
    first = next(x for x in operands if is_read(x))
    env = first.node.shape_env if isinstance(first, SymInt) else first.shape_env
    value = function_of(name)(*map(_value, operands))
    return SymFloat.of(value, env, name, *operands)


def function_of(name: Any) -> Callable[..., Any]:
    """The function by which a graph computes: of ``operator`` if it is a name, else
    ``torch.sym_max`` and its like.
    """
    found: Callable[..., Any] = getattr(operator, name) if type(name) is str else name
    return found


def _value(number: Any) -> Any:
    if isinstance(number, SymInt):
        return number.node.hint
    return float.__float__(number) if isinstance(number, SymFloat) else number


def _float_arithmetic(name: str, swaps: bool) -> None:
    method = f"__r{name}__" if swaps else f"__{name}__"
    plain = getattr(float, method)

    def combine(self: SymFloat, *others: Any) -> Any:
        value = plain(self, *others)
        if value is NotImplemented:
            return value
        operands = (self, *others)
        return SymFloat.of(
            value, self.shape_env, name, *(operands[::-1] if swaps else operands)
        )

    setattr(SymFloat, method, combine)


def _float_comparison(name: str) -> None:
    plain = getattr(float, f"__{name}__")

    def compare(self: SymFloat, other: Any) -> Any:
        if _is_called():
            self.shape_env.refuse(f"a comparison ({name}) of the float {self!r}")
        return plain(self, other)

    setattr(SymFloat, f"__{name}__", compare)


_MOST_STEP = 2**-8  # of a float between two runs: small, for ops that need a range
COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _arithmetic(_name)
for _sign, _compare in COMPARISONS.items():
    _comparison(_compare.__name__, _sign)
    _float_comparison(_compare.__name__)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _float_arithmetic(_name, swaps=False)
    _float_arithmetic(_name, swaps=True)
_float_arithmetic("neg", swaps=False)
_float_arithmetic("abs", swaps=False)
for _name in ("and", "or", "xor", "lshift", "rshift"):
    _takes_value(int, f"__{_name}__")
    _takes_value(int, f"__r{_name}__")
for _name in ("__abs__", "__rpow__", "bit_length", "bit_count", "as_integer_ratio"):
    _takes_value(int, _name)
for _name in ("int", "float", "trunc", "floor", "ceil", "round", "divmod", "rdivmod"):
    _takes_value(float, f"__{_name}__")
for _name in ("is_integer", "as_integer_ratio", "hex"):
    _takes_value(float, _name)

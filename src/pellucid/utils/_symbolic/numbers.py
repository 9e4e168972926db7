"""``SymInt``: a size with its expression.

It is an int, the size of the example. Arithmetic with it gives SymInts, and a
comparison in the program is recorded with its source line as a guard of the trace
(``environment.py``). A number that the program reads from a tensor is unbacked: a
comparison with it is a ``SymBool``, which is True or False only where the ranges
decide. ``SymFloat`` is a float that the program read, or computed from such.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

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
        return bool(self != 0)

    def __int__(self) -> int:
        self._note_plain()
        return self.node.hint

    def __float__(self) -> float:
        self._note_plain()
        return float(self.node.hint)

    def __truediv__(self, other: Any) -> Any:
        self._note_plain()
        return int.__truediv__(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        self._note_plain()
        return int.__rtruediv__(self, other)

    def _note_plain(self) -> None:
        """Converts to a plain number: decisions based on it are not recorded, the
        conversion is."""
        asking = sys._getframe(2)
        if _is_program(asking):
            if self.node.is_unbacked():
                self.node.shape_env.refuse(f"its value, {self}, as a plain number")
            self.node.shape_env.note_plain(asking)

    def __neg__(self) -> Any:
        return 0 - self

    def __pos__(self) -> Any:
        return self

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
        return make(expr, node.shape_env, hint)

    def forward(self: SymInt, other: Any) -> Any:
        if not isinstance(other, int):
            return plain(self, other)
        return combine(self, other)

    def reflected(self: SymInt, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
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


def _is_program(frame: FrameType) -> bool:
    """Whether it is the traced program that runs, not this package for it."""
    return "/pellucid/" not in frame.f_code.co_filename


def _is_called() -> bool:
    return _is_program(sys._getframe(2))


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

    def __bool__(self) -> bool:
        answer = self.shape_env.decided(self.guard)
        if answer is None:
            self.shape_env.refuse(f"the condition {self.guard}")
        return bool(answer)

    def __invert__(self) -> SymBool:
        return SymBool(self.guard.opposite(), self.shape_env)

    def __repr__(self) -> str:
        return str(self.guard)


@offered.value
class SymFloat(float):
    """A float that the program read from a tensor or computed from one: a call of
    ``operator`` with operands, or a symbol alone.
    """

    shape_env: ShapeEnv
    operands: tuple[Any, ...]

    @staticmethod
    def of(value: float, env: ShapeEnv, operator_name: str, *operands: Any) -> SymFloat:
        """A float that is computed so; ``env`` knows it from now on."""
        made = SymFloat(value)
        made.shape_env, made.operands = env, (operator_name, *operands)
        env.floats.append(made)
        return made

    def __bool__(self) -> bool:
        if _is_called():
            self.shape_env.refuse(f"the condition {self!r} != 0")
        return float.__bool__(self)

    def __repr__(self) -> str:
        name, *operands = self.operands
        return str(operands[0]) if name == "symbol" else f"{name}{tuple(operands)}"

    __hash__ = float.__hash__


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
for _name in ("add", "sub", "mul", "truediv", "pow"):
    _float_arithmetic(_name, swaps=False)
    _float_arithmetic(_name, swaps=True)
_float_arithmetic("neg", swaps=False)

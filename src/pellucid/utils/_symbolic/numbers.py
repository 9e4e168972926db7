"""``SymInt``: a size with its expression.

It is an int, the size of the example. Arithmetic with it gives SymInts, and a
comparison in the program is recorded with its source line as a guard of the trace
(``environment.py``).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pellucid._package.calls import offered
from pellucid.utils._symbolic.expressions import Expr

if TYPE_CHECKING:
    from pellucid.utils._symbolic.environment import ShapeEnv


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
        return self != 0

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
        if "/pellucid/" not in asking.f_code.co_filename:
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
            if not difference.is_number:
                self.node.shape_env.note(self.node.expr, sign, other, bool(answer))
        return answer

    setattr(SymInt, f"__{name}__", compare)


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _arithmetic(_name)
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
for _name, _sign in _SIGNS.items():
    _comparison(_name, _sign)


@offered.value
class SymFloat:
    """For compatibility: floats are plain numbers here."""


@offered.value
class SymBool:
    """For compatibility: conditions are plain bools here."""

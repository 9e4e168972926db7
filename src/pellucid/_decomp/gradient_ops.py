"""Gradients as modes see them: by the gradient op that a declaration names.

A derivative op has no name that programs know. Where modes watch, the gradients of an
op that declares ``backward=`` are seen as that op, whose body runs the same derivative
(``pellucid/_C/_runtime/gradients.py``) or is a composite. Arguments are matched by
name, after those that the declaration gives
(``_C/_runtime/gradient_arguments.py``). Read next: derivatives.py.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pellucid import Tensor
from pellucid._C._runtime.gradient_arguments import reading_of
from pellucid._C._runtime.gradients import overload_of
from pellucid._decomp.call import Call
from pellucid._decomp.registry import unseen
from pellucid._ops import OpOverload


class GradientOp:
    """The op ``name`` as the one that gives the gradients of ``forward``; ``given`` is
    what the declaration says of its arguments: ``"self=result, threshold=0"``.
    """

    def __init__(self, forward: OpOverload, name: str, given: str) -> None:
        self.forward = forward
        self.name = name
        self.given = _keywords(given)

    @cached_property
    def op(self) -> OpOverload:
        """The op, looked up at first use."""
        return overload_of(self.name)

    @cached_property
    def tensors(self) -> list[str]:
        """The arguments that have gradients, in the order of the results: not those
        that the declaration gives under other names.
        """
        declared = self.forward._schema.arguments
        named = {
            part.id
            for value in self.given.values()
            for part in ast.walk(value)
            if isinstance(part, ast.Name)
        }
        tensors = (a.name for a in declared if "Tensor" in a.type)
        found = [name for name in tensors if name not in named]
        return found[: len(self.op._schema.returns)]

    def gradients(self, call: Call, wanted: Sequence[str]) -> dict[str, Tensor]:
        """The gradients of these arguments, by name."""
        for name in wanted:
            if name not in self.tensors:
                call.unread(name)
        arguments = self.op._schema.arguments[1:]
        mask = [name in wanted for name in self.tensors]
        values = {a.name: self._value(call, a, mask) for a in arguments}
        given = [values.pop(a.name) for a in arguments if not a.kwarg_only]
        found = self.op(call.grad, *given, **values)
        results = [found] if isinstance(found, Tensor) else found
        pairs = zip(self.tensors, results, strict=True)
        return {name: gradient for name, gradient in pairs if name in wanted}

    def _value(self, call: Call, argument: Any, mask: list[bool]) -> Any:
        name = argument.name
        if name in self.given:
            return _evaluated(self.given[name], call)
        if name == "output_mask":
            return mask
        declared = {a.name: a for a in self.forward._schema.arguments}
        row = reading_of(name, frozenset(declared))
        if row.shown is not None:
            with unseen():
                return row.shown(call)
        if row.argument in declared:
            return call.argument(declared[row.argument])
        if row.result is not None:
            return call.result(row.result)
        return call.unread(name)


def _keywords(text: str) -> dict[str, ast.expr]:
    call = ast.parse(f"given({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(k.arg): k.value for k in call.keywords}


def _evaluated(value: ast.expr, call: Call) -> Any:
    """A literal, a result (``result``, ``result1``), a forward argument, or ``-x``,
    ``not x`` and ``1 / x`` of one; ``-x`` of a list is that of its numbers.
    """
    if isinstance(value, ast.UnaryOp):
        operand = _evaluated(value.operand, call)
        if isinstance(value.op, ast.Not):
            return not operand
        return [-n for n in operand] if isinstance(operand, list) else -operand
    if isinstance(value, ast.BinOp):
        return _evaluated(value.left, call) / _evaluated(value.right, call)
    if not isinstance(value, ast.Name):
        return ast.literal_eval(value)
    name = value.id
    if name.startswith("result"):
        return call.result(int(name.removeprefix("result") or 0))
    return call.argument(
        next(a for a in call.forward._schema.arguments if a.name == name)
    )

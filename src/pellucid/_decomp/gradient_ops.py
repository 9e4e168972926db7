"""Gradients as modes see them: by the gradient op that a declaration names.

A derivative op has no name that programs know. Where modes watch, the gradients of an
op that declares ``backward=`` are seen as that op, whose body runs the same derivative
(``pellucid/_C/_runtime/gradients.py``) or is a composite. Its arguments are what the
declaration says (``_C/_runtime/gradient_arguments.py``). Read next: derivatives.py.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pellucid import Tensor
from pellucid._C._runtime.gradient_arguments import declared_reads, is_mask, value_of
from pellucid._C._runtime.gradients import overload_of
from pellucid._decomp.call import Call
from pellucid._decomp.registry import unseen
from pellucid._ops import OpOverload


class GradientOp:
    """The op ``name`` as the one that gives the gradients of ``forward``."""

    def __init__(self, forward: OpOverload, name: str) -> None:
        self.forward = forward
        self.name = name
        self.given = declared_reads(forward.name().removeprefix("aten::"))

    @cached_property
    def op(self) -> OpOverload:
        """The op, looked up at first use."""
        return overload_of(self.name)

    @cached_property
    def tensors(self) -> list[str]:
        """The arguments that have gradients, in the order of the results: those that
        the declaration gives under other names come last.
        """
        named = {v.id for v in self.given.values() if isinstance(v, ast.Name)}
        declared = self.forward._schema.arguments
        tensors = [a.name for a in declared if "Tensor" in a.type]
        found = sorted(tensors, key=named.__contains__)
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
        if is_mask(argument):
            return mask
        if name in self.given:
            with unseen():
                return value_of(self.given[name], call)
        declared = {a.name: a for a in self.forward._schema.arguments}
        return call.argument(declared[name]) if name in declared else call.unread(name)

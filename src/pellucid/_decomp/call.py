"""A call of a derivative op: the gradients it must give, and what it reads.

Used by derivatives.py and gradient_ops.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import pellucid
from pellucid import _C, Tensor
from pellucid._decomp.registry import Composed, unseen
from pellucid._ops import OpOverload


class Unread(Exception):
    """The call's key told the derivative all that it needs of an argument."""


def name_of_result(number: int) -> str:
    """``result``, and the second, as ops give places too, ``indices``."""
    return ("result", "indices")[number] if number < 2 else f"result{number}"


class Call(NamedTuple):
    """The gradients that a derivative op must give, and all that the op reads.

    ``values`` are the forward op's arguments by name and its ``result``; what the
    derivative does not read the node that runs may know. ``wanted`` names the
    arguments that the gradients are of, ``place`` is the one that a rule of a single
    gradient gives.
    """

    values: dict[str, Any]
    grad: Tensor
    op: OpOverload
    args: tuple[Any, ...]
    wanted: tuple[str, ...]
    forward: OpOverload
    place: int = 0

    def parameter(self, name: str) -> Any:
        """What a declared rule calls so."""
        if name == "grad":
            return self.grad
        if name == "result":
            return self.result(0)
        if name == "size":
            return self.size
        for declared in self.forward._schema.arguments:
            if declared.name == name and declared.type == "Tensor?":
                return self.argument(declared)
        return self.value(name)

    def value(self, name: str) -> Any:
        """A forward argument; `Unread` where neither derivative nor node has it."""
        if name in self.values:
            return self.values[name]
        node = _C._current_autograd_node()
        found = getattr(node, f"_saved_{name}", Unread)
        if found is Unread or isinstance(found, Tensor):
            self.unread(name)
        return list(found) if isinstance(found, tuple) else found

    def result(self, number: int) -> Tensor:
        """A result of the forward call: the derivative reads it, or the call's node
        saved it since it was watched. Else it is computed once more, from arguments
        that have memory.
        """
        name = name_of_result(number)
        if name in self.values:
            known: Tensor = self.values[name]
            return known
        saved = _C._results_of_node(self.forward.name())
        if saved is not None and (result := saved[number]) is not None:
            return result
        given = [self.argument(a) for a in self.forward._schema.arguments]
        kwarg_only = [a.name for a in self.forward._schema.arguments if a.kwarg_only]
        count = len(given) - len(kwarg_only)
        run: Any = self.forward
        if number >= len(self.forward._schema.returns):
            run = Composed(self.forward.name().removeprefix("aten::")).results
        with unseen():
            named = dict(zip(kwarg_only, given[count:], strict=True))
            found = run(*given[:count], **named)
        computed: Tensor = found if isinstance(found, Tensor) else found[number]
        return computed

    def argument(self, declared: Any) -> Any:
        """A forward argument; None for a tensor that is not given."""
        if declared.type == "Tensor?" and not self.knows(declared.name):
            return None
        return self.operand(declared.name)

    def unread(self, name: str) -> NoReturn:
        raise Unread(name)

    def knows(self, name: str) -> bool:
        """Whether a tensor was given for an optional argument."""
        return name in self.wanted or self.values.get(name) is not None

    def operand(self, name: str) -> Any:
        """A forward argument; for a tensor of which no element is read one of its
        sizes.
        """
        if name not in self.values and name in self.wanted:
            with unseen():
                return self.grad.new_zeros(()).expand(self.size_of(name))
        return self.value(name)

    @property
    def size(self) -> tuple[int, ...]:
        """The gradient's."""
        return self.size_of(self.wanted[self.place])

    def size_of(self, name: str) -> tuple[int, ...]:
        """A gradient's, by the op's own rule of shapes."""
        with unseen():
            try:
                found = self.op(*map(_on_meta, self.args))
            except NotImplementedError:  # masks say how many elements there are
                found = self.op(*self.args)
        results = [found] if isinstance(found, Tensor) else found
        return tuple(results[self.wanted.index(name)].shape)


def _on_meta(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return pellucid.empty(value.shape, dtype=value.dtype, device="meta")

"""How ops on one kind of tensor are computed: sparse, nested, quantized, masked.

Most follow from the op's declaration: a kind's ``derived`` says how (``facts.py``).
What does not follow is computed by a function that registers itself for its ops, with
the reason. In-place and ``out=`` forms write what their functional forms give. The
runtime calls ``Rules.answer`` (``runtime/python/kinds.cpp``); a NotImplemented makes it
run a composite as the ops that it calls, and refuse any other op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import pellucid._ops.facts as facts

if TYPE_CHECKING:
    from pellucid._ops import OpOverload

Function = Callable[..., Any]
_F = TypeVar("_F", bound=Function)
# Ops of derivatives have plain tensors of their own sizes and dims.
_WITHOUT_RULES: Final = "derivative"


class Rule(NamedTuple):
    """A function that computes ops, why none is derived or, where one ``is_instead``,
    why that is not the op.
    """

    function: Function
    reason: str
    is_instead: bool


def refuse(*args: Any, **kwargs: Any) -> Any:
    """Runs a composite as the ops that it calls, and refuses any other op."""
    return NotImplemented


def _without_memory(op: OpOverload) -> Function:
    def run(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{op._opname}: the tensor consists of other tensors and has no memory of "
            "its own; make a new one of its parts"
        )

    return run


class Registry:
    """Registered rules by the names of ops, and the derived ones.

    ``derive(op)``: how to call an op as its declaration implies; None where it implies
    nothing.
    """

    def __init__(self, derive: Callable[[OpOverload], Function | None]) -> None:
        self._derive = derive
        self.by_name: dict[str, Rule] = {}

    def because(self, reason: str) -> Callable[..., Callable[[_F], _F]]:
        """A decorator with the names of ops that have no derived rule."""
        return self._registering(reason, False)

    def instead(self, reason: str) -> Callable[..., Callable[[_F], _F]]:
        """A decorator with the names of ops whose derived rule is not used."""
        return self._registering(reason, True)

    def _registering(self, reason: str, is_instead: bool) -> Any:
        def named(*names: str) -> Callable[[_F], _F]:
            def register(function: _F) -> _F:
                for name in names:
                    self.by_name[name] = Rule(function, reason, is_instead)
                return function

            return register

        return named

    def derived(self, op: OpOverload) -> Function | None:
        """How to call an op as its declaration implies, whatever is registered."""
        return None if op.namespace == _WITHOUT_RULES else self._derive(op)


class Rules(Registry):
    """The rules of a kind of tensor whose ops the dispatcher hands over.

    ``bound(function, op)``: how to call a registered function for an op.
    ``write(target, result, op)``: writes the result of the functional form.
    """

    def __init__(
        self,
        derive: Callable[[OpOverload], Function | None],
        bound: Callable[[Function, OpOverload], Function],
        write: Callable[[Any, Any, OpOverload], Any],
    ) -> None:
        super().__init__(derive)
        self._bound, self._write = bound, write
        self._chosen: dict[Any, Function] = {}

    def answer(
        self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The results of an overload for arguments of the kind, or NotImplemented."""
        run = self._chosen.get(op)
        if run is None:
            run = self._chosen[op] = self._choose(op)
        return run(*args, **kwargs)

    def _choose(self, op: OpOverload) -> Function:
        if op.namespace == _WITHOUT_RULES:
            return refuse
        rule = self.by_name.get(op._opname)
        if rule is not None and not facts.is_out(op):
            return self._bound(rule.function, op)
        if not op._schema.is_mutable:
            return self.derived(op) or refuse
        if facts.takes_memory(op):
            return _without_memory(op)
        functional = facts.functional_form(op)
        if functional is None:
            return self.derived(op) or refuse
        return self._writing(op, functional)

    def _writing(self, op: OpOverload, functional: OpOverload) -> Function:
        """``op_`` and ``op(out=)``: writes the functional form's result."""
        place, *others = (a for a in op._schema.arguments if a.is_write)
        is_first = place.name == op._schema.arguments[0].name
        if others or not (is_first or place.is_out):
            return refuse

        def run(*args: Any, **kwargs: Any) -> Any:
            target = args[0] if is_first else kwargs.pop(place.name)
            return self._write(target, functional(*args, **kwargs), op)

        return run

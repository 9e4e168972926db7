"""How ops on one kind of tensor are computed: sparse, nested, quantized, masked.

Most follow from the op's declaration: a kind's ``derive`` says how (``facts.py``). What
does not follow is computed by a function that registers itself for its ops, with the
reason. In-place and ``out=`` forms write what their functional forms give. The runtime
calls ``Rules.answer`` (``runtime/python/kinds.cpp``); a NotImplemented makes it run a
composite as the ops that it calls, and refuse any other op.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pellucid
from pellucid._ops import facts
from pellucid._tensor.dtype_names import TYPE_NAMES

if TYPE_CHECKING:
    from pellucid._ops import OpOverload
    from pellucid._ops.schema import Argument

Function = Callable[..., Any]
_F = TypeVar("_F", bound=Function)


class Rule(NamedTuple):
    """A function that computes ops, and why: no rule is derived or, where it
    ``overrides``, the derived one is not the op.
    """

    function: Function
    reason: str
    overrides: bool


def refuse(*args: Any, **kwargs: Any) -> Any:
    """Runs a composite as the ops that it calls, and refuses any other op."""
    return NotImplemented


def _refuse_memory(op: OpOverload, /, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        f"{op._opname}: the tensor consists of tensors and has no memory of its own"
    )


def require_castable(found: pellucid.dtype, target: pellucid.dtype) -> None:
    """Refuses an in-place op whose result has a dtype that ``target`` cannot hold."""
    if not pellucid.can_cast(found, target):
        raise RuntimeError(
            f"result type {TYPE_NAMES[found]} can't be cast to the desired "
            f"output type {TYPE_NAMES[target]}"
        )


class Registry:
    """The rules of ops by name. ``derive(op)``: how to call an op as its declaration
    implies; None where it implies nothing.
    """

    def __init__(self, derive: Callable[[OpOverload], Function | None]) -> None:
        self.derive = derive
        self.by_name: dict[str, Rule] = {}

    def because(
        self, reason: str, overrides: bool = False
    ) -> Callable[..., Callable[[_F], _F]]:
        """A decorator of rules, which takes the names of the ops."""

        def named(*names: str) -> Callable[[_F], _F]:
            def register(function: _F) -> _F:
                for name in names:
                    if name in self.by_name:
                        raise ValueError(f"{name} has a rule already")
                    self.by_name[name] = Rule(function, reason, overrides)
                return function

            return register

        return named


class Rules(Registry):
    """The rules of a kind of tensor whose ops the dispatcher hands over.

    ``bind(function, op)``: how to call a registered function for an op.
    ``write(target, result, op)``: writes the result of the functional form.
    """

    def __init__(
        self,
        derive: Callable[[OpOverload], Function | None],
        bind: Callable[[Function, OpOverload], Function],
        write: Callable[[Any, Any, OpOverload], Any],
    ) -> None:
        super().__init__(derive)
        self._bind, self._write = bind, write
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
        if op.namespace == "derivative":  # of plain tensors, with dims of their own
            return refuse
        rule = self.by_name.get(op._opname)
        if rule is not None and not facts.is_out(op):
            return self._bind(rule.function, op)
        if facts.changes_memory(op):
            return partial(_refuse_memory, op)
        arguments = op._schema.arguments
        written = [a for a in arguments if a.is_write]
        if len(written) == 1 and (written[0].is_out or written[0] is arguments[0]):
            functional = facts.functional_form(op)
            if functional is not None:
                return self._writing(op, functional, written[0])
        return self.derive(op) or refuse

    def _writing(
        self, op: OpOverload, functional: OpOverload, place: Argument
    ) -> Function:
        """``op_`` and ``op(out=)``: writes the functional form's result."""
        compute, write = self._choose(functional), self._write

        def run(*args: Any, **kwargs: Any) -> Any:
            target = kwargs.pop(place.name) if place.is_out else args[0]
            found = compute(*args, **kwargs)
            if found is NotImplemented and facts.kind(op) == "random":
                return found  # the functional form draws by this op
            if found is NotImplemented:
                found = functional(*args, **kwargs)
            if not (place.is_out or found.dtype is target.dtype):
                require_castable(found.dtype, target.dtype)
            return write(target, found, op)

        return run

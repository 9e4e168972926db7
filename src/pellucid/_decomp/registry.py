"""The table of decompositions: functions by the op that they replace.

``decomposes`` makes the runtime use one; ``register_decomposition`` is PyTorch's name,
which only notes it for who asks ``get_decompositions``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pellucid import _C, Tensor
from pellucid._ops import OpOverload, OpOverloadPacket, ops

_F = TypeVar("_F", bound=Callable[..., Any])

decomposition_table: dict[Any, Callable[..., Any]] = {}


def decomposes(*names: str) -> Callable[[_F], _F]:
    """Decorates what watched calls of the aten ops of these names run.

    The function gets all arguments, those with defaults too. It may return
    NotImplemented: then the op is seen as itself.
    """

    def register(function: _F) -> _F:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if _runs_as_itself((*args, *kwargs.values())):
                return NotImplemented
            return function(*args, **kwargs)

        for full_name in names:
            name, _, overload = full_name.partition(".")
            op = getattr(getattr(ops.aten, name), overload or "default")
            decomposition_table[op] = function
            _C._register_decomposition(f"aten::{full_name}", run)
        return function

    return register


def is_observer(mode: object) -> bool:
    """Whether a mode wants to see the ops that run without it, not what they compute:
    a profiler's.
    """
    return getattr(mode, "_observes", False)


@contextmanager
def unseen() -> Iterator[None]:
    """For what no mode and no class of a tensor may see."""
    before = _C._exclude_torch_dispatch(True)
    try:
        yield
    finally:
        _C._exclude_torch_dispatch(before)


def _runs_as_itself(values: Iterable[Any]) -> bool:
    """Whether only observers watch a call: no other mode, no class of a tensor."""
    watching = [*_C._torch_dispatch_modes(), *_dispatching_classes(values)]
    return bool(watching) and all(map(is_observer, watching))


def _dispatching_classes(values: Iterable[Any]) -> Iterator[type]:
    for kind in map(type, values):
        if not issubclass(kind, Tensor):
            continue
        derived = kind.__mro__[: kind.__mro__.index(Tensor)]
        if any("__torch_dispatch__" in vars(c) for c in derived):
            yield kind


def _overloads(given: Any) -> list[Any]:
    if isinstance(given, OpOverloadPacket):
        return [getattr(given, overload) for overload in given.overloads()]
    if isinstance(given, OpOverload):
        return [given]
    return [op for entry in given for op in _overloads(entry)]


def register_decomposition(
    aten_op: Any, registry: dict[Any, Any] | None = None
) -> Callable[[_F], _F]:
    """Decorates a decomposition of an op, a packet, or several, for a table.

    Example::

        @register_decomposition(torch.ops.aten.silu.default)
        def silu(x):
            return x * x.sigmoid()
    """
    table = decomposition_table if registry is None else registry

    def register(function: _F) -> _F:
        for op in _overloads(aten_op):
            if op in table:
                raise RuntimeError(f"{op} has a decomposition already")
            table[op] = function
        return function

    return register


def get_decompositions(aten_ops: Sequence[Any] | Iterable[Any]) -> dict[Any, Any]:
    """The known decompositions of these ops and packets, by overload."""
    wanted = _overloads(aten_ops)
    return {op: decomposition_table[op] for op in wanted if op in decomposition_table}

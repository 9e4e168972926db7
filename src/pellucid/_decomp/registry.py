"""The table of decompositions: what watched calls of an op run in its place.

The bodies are declared beside the ops (``pellucid_compiler/declare/seen.py``) and found
when they are first called. ``register_decomposition`` is PyTorch's name, which only
notes a function for who asks ``get_decompositions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import pellucid._C._runtime.composites  # noqa: F401 - gives the bodies their framework
from pellucid import _C, Tensor
from pellucid._C._runtime.gradients import overload_of
from pellucid._ops import OpOverload, OpOverloadPacket

_F = TypeVar("_F", bound=Callable[..., Any])

decomposition_table: dict[Any, Callable[..., Any]] = {}


def declared(name: str) -> Any:
    """The declaration of an aten op, ``"max.dim"``."""
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.declare import REGISTRY

    return REGISTRY[name]


class Composed:
    """An op by the ops that its declaration says modes see."""

    def __init__(self, name: str) -> None:
        self.__name__ = self._name = name

    @cached_property
    def results(self) -> Callable[..., Any]:
        """The declared body. It may give more than the op, for the gradient."""
        body: Callable[..., Any] = declared(self._name).seen.body
        return body

    @cached_property
    def _count(self) -> int:
        return len(overload_of(self._name)._schema.returns)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.results(*args, **kwargs)
        if not isinstance(found, tuple):
            return found
        return found[0] if self._count == 1 else found[: self._count]

    def run_watched(self, *args: Any, **kwargs: Any) -> Any:
        """What the runtime calls."""
        if _runs_as_itself((*args, *kwargs.values())):
            return NotImplemented
        return self(*args, **kwargs)


def install() -> None:
    """Makes watched calls of all ops whose declarations say so run as others."""
    for name, (_, _, is_composed, _) in _C._seen_ops().items():
        if is_composed:
            composed = Composed(name)
            decomposition_table[overload_of(name)] = composed
            _C._register_decomposition(name, composed.run_watched)


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
    modes = (*_C._pre_dispatch_modes(), *_C._torch_dispatch_modes())
    watching = [*modes, *_dispatching_classes(values)]
    return bool(watching) and all(map(is_observer, watching))


def _dispatching_classes(values: Iterable[Any]) -> Iterator[type]:
    return filter(_dispatches, map(type, values))


@lru_cache(256)
def _dispatches(kind: type) -> bool:
    """Whether a class derived from Tensor answers for ops on its objects."""
    if not issubclass(kind, Tensor):
        return False
    derived = kind.__mro__[: kind.__mro__.index(Tensor)]
    return any("__torch_dispatch__" in vars(c) for c in derived)


def overloads_of(given: Any) -> list[Any]:
    if isinstance(given, OpOverloadPacket):
        return [getattr(given, overload) for overload in given.overloads()]
    if isinstance(given, OpOverload):
        return [given]
    return [op for entry in given for op in overloads_of(entry)]


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
        for op in overloads_of(aten_op):
            if op in table:
                raise RuntimeError(f"{op} has a decomposition already")
            table[op] = function
        return function

    return register

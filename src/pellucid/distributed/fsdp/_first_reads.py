"""``FirstReads``: acts before a parameter is first read from its module.

Modules look attributes up in their dict of parameters without calling Python, so a
module that waits for its first read has a subclass of its class, whose properties act.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pellucid import nn


class _Unread:
    """Comes first among the bases of the subclasses."""

    def __init_subclass__(cls, **_: Any) -> None:
        """Classes of the program do not hear of these subclasses of theirs."""


class FirstReads:
    """Those of a group of parameters."""

    def __init__(self) -> None:
        self._act: Callable[[], None] | None = None
        self._waiting: list[tuple[nn.Module, Any]] = []  # with their classes
        self._subclasses: dict[tuple[Any, frozenset[str]], Any] = {}

    def __reduce__(self) -> Any:
        return FirstReads, ()  # a copy has subclasses of its own

    def precede(
        self, places: Iterable[tuple[nn.Module, str]], act: Callable[[], None]
    ) -> None:
        """Calls ``act`` before the first read of one of the places, unless ``end``
        comes before.
        """
        names: dict[nn.Module, set[str]] = {}
        for module, name in places:
            names.setdefault(module, set()).add(name)
        self._act = act
        self._waiting = [(module, type(module)) for module in names]
        for module, kind in self._waiting:
            module.__class__ = self._subclass(kind, frozenset(names[module]))

    def end(self) -> None:
        """Waits no longer."""
        for module, kind in self._waiting:
            module.__class__ = kind
        self._act, self._waiting = None, []

    def _read(self) -> None:
        act = self._act
        self.end()
        if act is not None:
            act()

    def _subclass(self, kind: Any, names: frozenset[str]) -> Any:
        key = kind, names
        if key not in self._subclasses:
            body: dict[str, Any] = {name: self._property(name) for name in names}
            body["_parameters"] = property(self._table)
            body["__module__"] = kind.__module__
            self._subclasses[key] = type(kind.__name__, (_Unread, kind), body)
        return self._subclasses[key]

    def _property(self, name: str) -> property:
        def read(module: nn.Module) -> Any:
            self._read()
            return getattr(module, name)

        return property(read)

    def _table(self, module: nn.Module) -> Any:
        self._read()
        return module._parameters

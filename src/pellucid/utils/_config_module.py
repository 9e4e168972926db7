"""``torch.utils._config_module``: modules of settings.

A module that is given to ``install_config_module`` refuses unknown settings, and can
change several for a scope (``patch``), save and restore them.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

__all__ = ["ConfigModule", "install_config_module"]


class _Group(SimpleNamespace):
    """Settings under one name: ``config.triton.cudagraphs``."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"there is no setting {name!r} in this group")
        self.__dict__[name] = value


class ConfigModule(ModuleType):
    """A module whose public values are settings; groups of settings have dotted names.

    Example::

        >>> import pellucid as torch
        >>> with torch._dynamo.config.patch(disable=True):
        ...     torch.compile(len)([1])
        1
    """

    _aliases: Mapping[str, str]

    def __setattr__(self, name: str, value: Any) -> None:
        name = self._aliases.get(name, name)
        if not name.startswith("__") and name not in self.__dict__:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in self._aliases:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        return self.__dict__[self._aliases[name]]

    def _owner(self, name: str) -> tuple[Any, str]:
        group, _, last = self._aliases.get(name, name).rpartition(".")
        owner = self.__dict__.get(group) if group else self
        if owner is None or last not in owner.__dict__:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        return owner, last

    def _set(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Sets settings by dotted name, all or none; returns their previous values."""
        owners = {name: self._owner(name) for name in values}
        before = {name: getattr(*owners[name]) for name in values}
        for name, value in values.items():
            setattr(*owners[name], value)
        return before

    def get_config_copy(self) -> dict[str, Any]:
        """All settings by dotted name, with copies of lists and dicts."""
        found: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if isinstance(value, _Group):
                found.update({f"{name}.{k}": v for k, v in vars(value).items()})
            elif _is_setting(name, value):
                found[name] = value
        return copy.deepcopy(found)

    shallow_copy_dict = to_dict = get_config_copy

    def save_config(self) -> bytes:
        """All settings, for ``load_config``."""
        return pickle.dumps(self.get_config_copy())

    def load_config(self, maybe_pickled_config: bytes | Mapping[str, Any]) -> None:
        """Sets what ``save_config`` or ``get_config_copy`` gave."""
        given = maybe_pickled_config
        self._set(pickle.loads(given) if isinstance(given, bytes) else given)

    def patch(
        self,
        arg1: str | Mapping[str, Any] | None = None,
        arg2: Any = None,
        **kwargs: Any,
    ) -> contextlib._GeneratorContextManager[None]:
        """Changes settings in a scope or, as a decorator, in a function: a name and its
        value, a dict, or keywords.
        """
        values = {arg1: arg2} if isinstance(arg1, str) else {**(arg1 or {}), **kwargs}
        return self._patched(values)

    @contextlib.contextmanager
    def _patched(self, values: Mapping[str, Any]) -> Iterator[None]:
        before = self._set(values)
        try:
            yield
        finally:
            self._set(before)

    def _make_closure_patcher(self, **changes: Any) -> Callable[[], Callable[[], None]]:
        """A function that makes the changes and returns one that takes them back."""

        def change() -> Callable[[], None]:
            before = self._set(changes)

            def take_back() -> None:
                self._set(before)

            return take_back

        return change


def _is_setting(name: str, value: Any) -> bool:
    return not name.startswith("_") and not (
        callable(value) or isinstance(value, ModuleType) or name == "annotations"
    )


def install_config_module(
    module: ModuleType,
    settings: Mapping[str, Any] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> None:
    """Makes ``module`` a ConfigModule, with further ``settings`` by dotted name, and
    other names of settings, ``aliases``.
    """
    vars(module)["_aliases"] = dict(aliases or {})
    for name, value in copy.deepcopy(dict(settings or {})).items():
        group, _, last = name.rpartition(".")
        if group:
            vars(module).setdefault(group, _Group()).__dict__[last] = value
        else:
            vars(module).setdefault(name, value)
    module.__class__ = ConfigModule

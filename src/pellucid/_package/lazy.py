"""Submodules and functions that are imported when they are first used.

They stand in the package's dict from the start. A module-level ``__getattr__`` would do
the same with less, but the interpreter then reads every attribute of the package the
slow way: 50 ns of each ``torch.add(...)``.

A late module is the module itself, not executed yet: whoever holds it, by
``from pellucid import nn`` for one, holds what ``import pellucid.nn`` gives. The import
system executes it, with its locks; the finder only makes it use the object that is
there. A late value stands for a function or class until its module is imported.
Called by ``pellucid/__init__.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from pellucid._package.overridable import overridable

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

_PACKAGE = "pellucid"
# What the import system reads and sets before it executes a module.
_OF_IMPORT = frozenset(
    {
        *("__name__", "__spec__", "__loader__", "__package__"),
        *("__path__", "__file__", "__cached__", "__class__"),
    }
)


class LateModule(ModuleType):
    """A submodule that is executed when it is asked for anything but its name."""

    def __getattribute__(self, name: str) -> Any:
        read = ModuleType.__getattribute__  # execution makes self an ordinary module
        if name not in _OF_IMPORT:
            import_module(read(self, "__name__"))
        return read(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _OF_IMPORT:
            import_module(self.__name__)
        ModuleType.__setattr__(self, name, value)

    def __dir__(self) -> Iterable[str]:
        import_module(self.__name__)
        return ModuleType.__dir__(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """For a module that gives itself a class that can be called (``explain``)."""
        import_module(self.__name__)
        if isinstance(self, LateModule):
            raise TypeError(f"the module {self.__name__!r} cannot be called")
        return self(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} (not executed yet)>"


class _LateLoader:
    """Executes a late module by the loader that its file has."""

    def __init__(self, module: LateModule, loader: Any) -> None:
        self.module, self.loader = module, loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        if type(module) is LateModule:  # a module may have given itself a class
            module.__class__ = ModuleType  # type: ignore[assignment]


class _LateFinder:
    """Finds the submodules of the package that have an object already."""

    def __init__(self, modules: Mapping[str, LateModule]) -> None:
        self.modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        module = self.modules.get(name)
        if module is None or type(module) is not LateModule:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = _LateLoader(module, spec.loader)  # type: ignore[assignment]
        return spec


class LateValue:
    """Stands for ``name`` of a submodule, which takes its place when it is used."""

    def __init__(
        self, namespace: dict[str, Any], module: str, name: str, of_tensors: bool
    ) -> None:
        self._place = namespace, module, name
        self._of_tensors = of_tensors

    @property
    def __wrapped__(self) -> Any:
        namespace, module, name = self._place
        value = getattr(import_module(f"{_PACKAGE}.{module}"), name)
        if self._of_tensors:
            value = overridable(value, _PACKAGE)
        if namespace.get(name) is self:
            namespace[name] = value
        return value

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        doc: str | None = self.__wrapped__.__doc__
        return doc

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __eq__(self, other: object) -> bool:
        own: object = self.__wrapped__
        return own == (other.__wrapped__ if type(other) is LateValue else other)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # what isinstance asks
        return type(self.__wrapped__)

    # A class may stand here.

    def __or__(self, other: Any) -> Any:
        return self.__wrapped__ | other

    def __ror__(self, other: Any) -> Any:
        return other | self.__wrapped__

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.__wrapped__)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self.__wrapped__)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self.__wrapped__,)

    def __reduce__(self) -> str | tuple[Any, ...]:
        _, module, name = self._place
        if self._of_tensors:
            return _function_of, (name,)
        return _value_of, (module, name)


def _value_of(module: str, name: str) -> Any:
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)


def _function_of(name: str) -> Any:
    return getattr(import_module(_PACKAGE), name)


def put_later(
    namespace: dict[str, Any],
    submodules: Iterable[str],
    values: Mapping[str, str],
    functions: Mapping[str, str],
) -> None:
    """Put late ``submodules``, and ``values`` by the submodule of each; ``functions``
    are values that ``__torch_function__`` sees.
    """
    modules = {}
    for name in submodules:
        full = f"{_PACKAGE}.{name}"
        if full not in sys.modules:
            modules[full] = namespace[name] = LateModule(full)
    sys.meta_path.insert(0, _LateFinder(modules))
    for name, module in values.items():
        namespace[name] = LateValue(namespace, module, name, False)
    for name, module in functions.items():
        namespace[name] = LateValue(namespace, module, name, True)

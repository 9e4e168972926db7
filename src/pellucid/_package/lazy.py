"""Submodules and functions that are imported at first use.

They are in the package's dict from the start. A module-level ``__getattr__`` would do
the same with less, but the interpreter then reads every attribute of the package the
slow way: 50 ns of each ``torch.add(...)``.

A lazy module is the module object itself, not executed yet: ``from pellucid import nn``
returns the same object as ``import pellucid.nn``. The import
system executes it, with its locks; the finder only makes it use the object that is
there. A lazy value takes the place of a function or class until its module is imported.
Called by ``lazy_exports.py``, which names what is lazy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from pellucid._package.calls.overridable import overridable

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


class LazyModule(ModuleType):
    """A submodule that is executed when any attribute but its name is read."""

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
        if isinstance(self, LazyModule):
            raise TypeError(f"the module {self.__name__!r} cannot be called")
        return self(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} (not executed yet)>"


class _LazyLoader:
    """Executes a lazy module by the loader that its file has."""

    def __init__(self, module: LazyModule, loader: Any) -> None:
        self.module, self.loader = module, loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        if type(module) is LazyModule:  # a module may have given itself a class
            module.__class__ = ModuleType  # type: ignore[assignment]


class _LazyFinder:
    """Finds the submodules of the package that have an object already."""

    def __init__(self, modules: Mapping[str, LazyModule]) -> None:
        self.modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        module = self.modules.get(name)
        if module is None or type(module) is not LazyModule:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = _LazyLoader(module, spec.loader)  # type: ignore[assignment]
        return spec


class LazyValue:
    """A placeholder for ``name`` of a submodule until it is used."""

    def __init__(
        self, namespace: dict[str, Any], module: str, name: str, is_overridable: bool
    ) -> None:
        self._place = namespace, module, name
        self._is_overridable = is_overridable
        self._value: Any = None

    def is_used(self) -> bool:
        """Whether the value has been imported."""
        return self._value is not None

    @property
    def __wrapped__(self) -> Any:
        if self._value is not None:  # whoever imported the name calls it through this
            return self._value
        namespace, module, name = self._place
        value = getattr(import_module(f"{_PACKAGE}.{module}"), name)
        if self._is_overridable:
            value = overridable(value, _PACKAGE)
        if namespace.get(name) is self:
            namespace[name] = value
        self._value = value
        return value

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        doc: str | None = self.__wrapped__.__doc__
        return doc

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # its property found no such value
            _, module, absent = self._place
            raise AttributeError(f"module {module!r} has no attribute {absent!r}")
        return getattr(self.__wrapped__, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __eq__(self, other: object) -> bool:
        own: object = self.__wrapped__
        return own == (other.__wrapped__ if type(other) is LazyValue else other)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # what isinstance asks
        return type(self.__wrapped__)

    # What it replaces may be a class.

    def __getitem__(self, item: Any) -> Any:
        return self.__wrapped__[item]

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
        if self._is_overridable:
            return _function_of, (name,)
        return _value_of, (module, name)


def _value_of(module: str, name: str) -> Any:
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)


def _function_of(name: str) -> Any:
    return getattr(import_module(_PACKAGE), name)


class LazyMethod:
    """A method of ``cls`` that replaces itself by its function at first use."""

    def __init__(self, cls: type, module: str, name: str) -> None:
        self.cls, self.module, self.name = cls, module, name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        function = _value_of(self.module, self.name)
        setattr(self.cls, self.name, function)
        if getattr(type(instance), self.name, None) is function:
            # Looked up again: modes are asked there, as at every later use.
            return getattr(instance, self.name)
        return function.__get__(instance, owner)  # super(), or of the class


def put_modules(
    namespace: dict[str, Any], names: Iterable[str], package: str = _PACKAGE
) -> None:
    """Put lazy submodules into a package's namespace."""
    modules = {}
    for name in names:
        full = f"{package}.{name}"
        if full not in sys.modules:
            modules[full] = namespace[name] = LazyModule(full)
    sys.meta_path.insert(0, _LazyFinder(modules))


def put_values(
    namespace: dict[str, Any], module_of: Mapping[str, str], *, overridable: bool
) -> None:
    """Put lazy values, by the submodule of each; ``__torch_function__`` sees those that
    are ``overridable``.
    """
    for name, module in module_of.items():
        namespace[name] = LazyValue(namespace, module, name, overridable)

"""Where the objects of pickles are looked up: the interpreter's modules, or packages.

``PackageExporter`` asks its importers under which module and name an object is written,
and where the source of a module is.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from pickle import whichmodule  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

from pellucid.package.mangling import demangle, is_mangled


class ObjNotFoundError(Exception):
    """No importer finds the object under its name."""


class ObjMismatchError(Exception):
    """The importer finds another object under the object's name."""


class Importer(ABC):
    """An environment to import from."""

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """The module of this name, imported."""

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module that has the object."""
        return str(whichmodule(obj, name))

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """The module and the name under which the object is imported again."""
        if name is None:
            name = getattr(obj, "__qualname__", None) or obj.__name__
        module_name = demangle(self.whichmodule(obj, name))
        try:
            module = self.import_module(module_name)
            found: Any = module
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, KeyError, AttributeError) as error:
            raise ObjNotFoundError(
                f"{obj!r:.120} is not found as {module_name}.{name}: {error}"
            ) from None
        if found is obj:
            return module_name, name
        raise ObjMismatchError(self._mismatch(obj, found, f"{module_name}.{name}"))

    def _mismatch(self, obj: Any, found: Any, name: str) -> str:
        places = [
            "a package" if is_from_package(value) else "the installed modules"
            for value in (obj, found)
        ]
        return (
            f"{name} is another object ({found!r:.80}, of {places[1]}) than the one "
            f"to be saved ({obj!r:.80}, of {places[0]}).\nGive PackageExporter the "
            "importer that the object comes from: importer=(package, sys_importer)"
        )


class _SysImporter(Importer):
    """The interpreter's own modules."""

    def import_module(self, module_name: str) -> ModuleType:
        return importlib.import_module(module_name)


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Several importers, asked in their order."""

    def __init__(self, *importers: Importer) -> None:
        self._importers = list(importers)

    def import_module(self, module_name: str) -> ModuleType:
        failure: ModuleNotFoundError | None = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(
                    f"importer is an Importer or a sequence of them, not {importer!r}"
                )
            try:
                return importer.import_module(module_name)
            except ModuleNotFoundError as error:
                failure = error
        raise failure or ModuleNotFoundError(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        for importer in self._importers:
            found = importer.whichmodule(obj, name)
            if found != "__main__":
                return found
        return "__main__"

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        for importer in self._importers[:-1]:
            try:
                return importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError):
                continue
        return self._importers[-1].get_name(obj, name)


def is_from_package(obj: Any) -> bool:
    """Whether a module, class or instance was imported from a package."""
    if isinstance(obj, ModuleType):
        return is_mangled(obj.__name__)
    kind = obj if isinstance(obj, type) else type(obj)
    return is_mangled(kind.__module__) or is_mangled(getattr(obj, "__module__", ""))

"""The pickles of packages: classes by the exporter's importers, storages as records."""

from __future__ import annotations

import pickle
import pickletools
from types import FunctionType
from typing import IO, TYPE_CHECKING, Any

from pellucid.serialization._format.names import public_name
from pellucid.serialization._format.writer import Writer

if TYPE_CHECKING:
    from pellucid.package.package_exporter import PackageExporter


class PackagePickler(Writer):
    """Writes one pickle of a package; all of them share the storages."""

    dispatch = Writer.dispatch.copy()

    def __init__(
        self,
        file: IO[bytes],
        protocol: int,
        exporter: PackageExporter,
        storages: dict[Any, Any],
    ) -> None:
        super().__init__(file, protocol)
        self._exporter = exporter
        self.storages = storages

    def persistent_id(self, value: Any) -> Any:
        reduce = getattr(value, "__reduce_package__", None)
        if reduce is None or isinstance(value, type):
            return super().persistent_id(value)
        function, arguments = reduce(self._exporter)
        number = self._exporter.get_unique_id()
        return ("reduce_package", number, function, arguments)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if public_name(obj) is not None:
            super().save_global(obj, name)
            return
        module, name = self._exporter.importer.get_name(obj, name)
        owner, _, last = name.rpartition(".")
        if not owner:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            self.memoize(obj)
            return
        value: Any = self._exporter.importer.import_module(module)
        for part in owner.split("."):
            value = getattr(value, part)
        self.save_reduce(getattr, (value, last), obj=obj)

    dispatch[FunctionType] = save_global


def modules_named(data: bytes) -> list[str]:
    """The modules whose objects a pickle names."""
    found: dict[str, None] = {}
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            found[str(argument).partition(" ")[0]] = None
    return list(found)

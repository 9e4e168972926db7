"""``PackageImporter``: imports modules and loads pickles and files from a package.

The package's modules are not in ``sys.modules``, so that several packages and the
installed modules do not meet; their names are mangled (``mangling.py``). An ``import``
in one of them reaches the package first and, for the modules that the exporter left
out, the environment.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import io
import linecache
import os
import pickle
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import IO, Any

from pellucid.package.file_structure_representation import Directory, directory_of
from pellucid.package.glob_group import GlobPattern
from pellucid.package.importer import Importer
from pellucid.package.mangling import Mangler, demangle, is_mangled
from pellucid.serialization import _placement
from pellucid.serialization._format.archive import TrustedUnpickler, placed
from pellucid.storage import TypedStorage, UntypedStorage

_File = str | os.PathLike[str] | IO[bytes]
_IMPORTER_MODULE = "torch_package_importer"


class PackageImporter(Importer):
    """Reads a package from a path or a binary file. Its code runs here, so load only
    packages that you trust. ``module_allowed`` says of each module outside the package
    whether the package may import it.

    Example::

        importer = PackageImporter("model.pt")
        model = importer.load_pickle("model", "model.pkl")
    """

    modules: dict[str, ModuleType]

    def __init__(
        self,
        file_or_buffer: _File,
        module_allowed: Callable[[str], bool] = lambda module_name: True,
    ) -> None:
        if isinstance(file_or_buffer, str | os.PathLike):
            self.filename = os.fspath(file_or_buffer)
        else:
            self.filename = "<binary>"
        self._file = zipfile.ZipFile(file_or_buffer)
        names = self._file.namelist()
        self._top = names[0].partition("/")[0] + "/"
        self._records = {name.removeprefix(self._top) for name in names}
        self.extern_modules = self._read(".data/extern_modules").decode().splitlines()
        for name in self.extern_modules:
            if not module_allowed(name):
                raise ImportError(
                    f"the package {self.filename} needs the module {name}, which "
                    "module_allowed does not allow"
                )
        self._mangler = Mangler()
        self.patched_builtins = {**vars(builtins), "__import__": self._import}
        self.modules = {}
        provided = ModuleType(_IMPORTER_MODULE)
        provided.__dict__.update(importer=self, id=self.id)
        self.modules[_IMPORTER_MODULE] = provided

    def id(self) -> str:
        """The prefix of the names of this importer's modules."""
        return self._mangler.prefix

    def python_version(self) -> str | None:
        """The version of Python that made the package."""
        place = ".data/python_version"
        return self._read(place).decode().strip() if place in self._records else None

    # Files

    def _read(self, name: str) -> bytes:
        if name not in self._records:
            raise OSError(f"the package {self.filename} has no file {name}")
        return self._file.read(self._top + name)

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a file."""
        return self._read(_path_of(demangle(package), resource))

    def load_text(
        self,
        package: str,
        resource: str,
        encoding: str = "utf-8",
        errors: str = "strict",
    ) -> str:
        """The text of a file."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """The object of a pickle, on the devices that ``map_location`` says."""
        placement = _placement(map_location)
        loaded: dict[str, TypedStorage] = {}

        def referred(identifier: Any) -> Any:
            if identifier[0] == "reduce_package":
                _, _, function, arguments = identifier
                return function(self, *arguments)
            kind, dtype, key, location, count = identifier
            if kind != "storage":
                raise pickle.UnpicklingError(f"unknown reference {identifier!r:.200}")
            if key not in loaded:
                memory = UntypedStorage(self._read(f".data/{key}.storage"))
                if memory.nbytes() != count * dtype.itemsize:
                    raise pickle.UnpicklingError(f"storage {key} is damaged")
                memory = placed(memory, location, placement)
                loaded[key] = TypedStorage(wrap_storage=memory, dtype=dtype)
            return loaded[key]

        return _Unpickler(self.load_binary(package, resource), referred, self).load()

    def file_structure(
        self, *, include: GlobPattern = "**", exclude: GlobPattern = ()
    ) -> Directory:
        """The files of the package as a tree, which prints as one."""
        name = self.filename
        return directory_of(name, sorted(self._records), include, exclude)

    # Modules

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """A module of the package, or one that the exporter left to the environment."""
        return self._load(importlib.util.resolve_name(name, package))

    def whichmodule(self, obj: Any, name: str) -> str:
        """The module of the package that has the object, or ``__main__``."""
        module = getattr(obj, "__module__", None)
        if module is not None:
            return str(module)
        for module_name, candidate in list(self.modules.items()):
            if is_mangled(candidate.__name__) and getattr(candidate, name, None) is obj:
                return module_name
        return "__main__"

    def get_source(self, module_name: str) -> str:
        """The source of a module of the package."""
        path, _ = self._place_of(demangle(module_name))
        if path is None:
            raise ImportError(f"the package has no module {module_name}")
        return self._read(path).decode()

    def _place_of(self, name: str) -> tuple[str | None, bool]:
        """(file, whether it is a package); a folder without ``__init__`` is one too."""
        start = name.replace(".", "/")
        if f"{start}/__init__.py" in self._records:
            return f"{start}/__init__.py", True
        if f"{start}.py" in self._records:
            return f"{start}.py", False
        return None, any(record.startswith(f"{start}/") for record in self._records)

    def _is_extern(self, name: str) -> bool:
        parts = name.split(".")
        prefixes = {".".join(parts[:k]) for k in range(1, len(parts) + 1)}
        return not prefixes.isdisjoint(self.extern_modules) or (
            parts[0] in ("torch", "pellucid") and self._place_of(name) == (None, False)
        )

    def _load(self, name: str) -> ModuleType:
        if name in self.modules:
            return self.modules[name]
        parent_name, _, last = name.rpartition(".")
        path, is_package = self._place_of(name)
        if path is None and not is_package:
            if not self._is_extern(name):
                raise ModuleNotFoundError(
                    f"No module named {name!r} in the package {self.filename}: the "
                    "exporter neither interned nor externed it",
                    name=name,
                )
            return _installed(name)
        parent = self._load(parent_name) if parent_name else None
        module = self.modules.get(name) or self._execute(name, path, is_package)
        if parent is not None:
            setattr(parent, last, module)
        return module

    def _execute(self, name: str, path: str | None, is_package: bool) -> ModuleType:
        mangled = self._mangler.mangle(name)
        module = ModuleType(mangled)
        filename = self._mangler.mangle(path or name)
        spec = ModuleSpec(mangled, self, is_package=is_package)  # type: ignore[arg-type]
        module.__dict__.update(
            __builtins__=self.patched_builtins,
            __file__=filename,
            __loader__=self,
            __spec__=spec,
            __torch_package__=True,
            __package__=mangled if is_package else mangled.rpartition(".")[0],
        )
        if is_package:
            module.__path__ = [filename.removesuffix("/__init__.py")]
        self.modules[name] = module
        if path is None:
            return module
        linecache.lazycache(filename, module.__dict__)
        try:
            code = compile(self._read(path), filename, "exec", dont_inherit=True)
            exec(code, module.__dict__)
        except BaseException:
            del self.modules[name]
            raise
        return self.modules[name]

    def _import(
        self,
        name: str,
        globals: dict[str, Any] | None = None,
        locals: object = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """``__import__`` of the package's modules."""
        if level:
            package = demangle((globals or {})["__package__"])
            name = importlib.util.resolve_name("." * level + name, package)
        module = self._load(name)
        if not fromlist:
            return module if level else self._load(name.partition(".")[0])
        if hasattr(module, "__path__"):
            self._load_named(module, name, fromlist)
        return module

    def _load_named(
        self, module: ModuleType, name: str, fromlist: Sequence[str]
    ) -> None:
        """Imports the modules among the names that are imported from a package."""
        names = list(fromlist)
        if "*" in names:
            names += getattr(module, "__all__", ())
        for item in names:
            if item == "*" or hasattr(module, item):
                continue
            try:
                self._load(f"{name}.{item}")
            except ModuleNotFoundError as error:
                if error.name != f"{name}.{item}":
                    raise  # the module exists, but one of its own imports does not

    # importlib.resources

    def get_resource_reader(self, fullname: str) -> _Resources | None:
        """The files beside a package of this archive, for importlib.resources."""
        name = demangle(fullname)
        _, is_package = self._place_of(name)
        return _Resources(self, name) if is_package else None


class _Resources:
    """The files of one package, as importlib.resources asks for them."""

    def __init__(self, importer: PackageImporter, name: str) -> None:
        self._importer, self._name = importer, name

    def open_resource(self, resource: str) -> IO[bytes]:
        try:
            return io.BytesIO(self._importer.load_binary(self._name, resource))
        except OSError as error:
            raise FileNotFoundError(str(error)) from None

    def resource_path(self, resource: str) -> str:
        raise FileNotFoundError("a file of a package has no path: open it")

    def is_resource(self, name: str) -> bool:
        return _path_of(self._name, name) in self._importer._records

    def contents(self) -> Iterator[str]:
        start = f"{self._name.replace('.', '/')}/"
        records = (r for r in self._importer._records if r.startswith(start))
        return iter({r.removeprefix(start).partition("/")[0] for r in records})


class _Unpickler(TrustedUnpickler):
    """Finds classes in the package, PyTorch's in Pellucid."""

    def __init__(
        self, data: bytes, referred: Callable[[Any], Any], importer: PackageImporter
    ) -> None:
        super().__init__(data, referred)
        self._importer = importer

    def find_class(self, module_name: str, global_name: str) -> Any:
        if module_name.partition(".")[0] == "torch":
            return super().find_class(module_name, global_name)
        value: Any = self._importer.import_module(module_name)
        for part in global_name.split("."):
            value = getattr(value, part)
        return value


def _installed(name: str) -> ModuleType:
    """A module of the environment; ``torch`` is Pellucid."""
    first, dot, rest = name.partition(".")
    if first == "torch":
        name = f"pellucid{dot}{rest}"
    return importlib.import_module(name)


def _path_of(package: str, resource: str) -> str:
    return f"{package.replace('.', '/')}/{resource}" if package else resource

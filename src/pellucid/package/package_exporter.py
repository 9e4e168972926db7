"""``PackageExporter``: writes code, pickles and files into one archive.

What happens to a module that the code or a pickle needs is decided by the first pattern
that matches its name: ``intern`` packs its source, ``extern`` leaves it to the loading
environment, ``mock`` packs a stand-in, ``deny`` is an error. ``torch`` and the standard
library are extern. ``dependencies.py`` has the graph, ``pickling.py`` the pickler.
"""

from __future__ import annotations

import io
import os
import platform
import uuid
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from pellucid.package.dependencies import (
    Action,
    DependencyGraph,
    EmptyMatchError,
    PackagingError,
    PackagingErrorReason,
    Pattern,
    source_of,
)
from pellucid.package.find_file_dependencies import find_files_source_depends_on
from pellucid.package.glob_group import GlobGroup, GlobPattern
from pellucid.package.importer import Importer, OrderedImporter, sys_importer
from pellucid.package.pickling import PackagePickler, modules_named
from pellucid.serialization._format.writer import bytes_of
from pellucid.utils.hooks import RemovableHandle

__all__ = [
    "EmptyMatchError",
    "PackageExporter",
    "PackagingError",
    "PackagingErrorReason",
]

_File = str | os.PathLike[str] | IO[bytes]
_Hook = Callable[["PackageExporter", str], None]
# The importer makes this module; the package needs no source for it.
_IMPORTER_MODULE = "torch_package_importer"
_MOCK_MODULE = "_mock"
_MOCKED = "from _mock import MockedObject\n\n\ndef __getattr__(name):\n    {}\n"
_MAKE_MOCK = "return MockedObject(f'{__name__}.{name}')"
_MOCK_SOURCE = '''\
"""Objects in the place of a module that was mocked when the package was made."""


class MockedObject:
    def __init__(self, name):
        self.__dict__["_name"] = name

    def _refuse(self, *args, **kwargs):
        raise NotImplementedError(
            f"{self._name} was mocked out when this package was made and cannot be used"
        )

    __call__ = __setattr__ = __getitem__ = _refuse

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __mro_entries__(self, bases):
        self._refuse()
'''


class PackageExporter:
    """Writes a package to a path or a binary file; a context manager.

    Example::

        with PackageExporter("model.pt") as exporter:
            exporter.intern("mymodels.**")
            exporter.extern("numpy.**")
            exporter.save_pickle("model", "model.pkl", model)
    """

    importer: Importer

    def __init__(
        self,
        f: _File,
        importer: Importer | Sequence[Importer] = sys_importer,
        debug: bool = False,
    ) -> None:
        self.debug = debug
        several = () if isinstance(importer, Importer) else tuple(importer)
        self.importer = OrderedImporter(*several) if several else importer  # type: ignore[assignment]
        is_path = isinstance(f, str | os.PathLike)
        self._top = Path(os.fspath(f)).stem if is_path else "archive"  # type: ignore[arg-type]
        self._file = zipfile.ZipFile(f, "w", zipfile.ZIP_STORED)
        self._written: set[str] = set()
        self._patterns: list[Pattern] = []
        self._storages: dict[Any, Any] = {}
        self._hooks: dict[Action, OrderedDict[int, _Hook]] = {
            action: OrderedDict() for action in Action
        }
        self._graph = DependencyGraph()
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self._file.close()

    # Which modules

    def intern(
        self,
        include: GlobPattern,
        *,
        exclude: GlobPattern = (),
        allow_empty: bool = True,
    ) -> None:
        """Packs the sources of the matching modules."""
        self._add_pattern(Action.INTERN, include, exclude, allow_empty)

    def extern(
        self,
        include: GlobPattern,
        *,
        exclude: GlobPattern = (),
        allow_empty: bool = True,
    ) -> None:
        """Leaves the matching modules to the environment that loads the package."""
        self._add_pattern(Action.EXTERN, include, exclude, allow_empty)

    def mock(
        self,
        include: GlobPattern,
        *,
        exclude: GlobPattern = (),
        allow_empty: bool = True,
    ) -> None:
        """Packs stand-ins for the matching modules, which raise when used."""
        self._add_pattern(Action.MOCK, include, exclude, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """The package must not need the matching modules."""
        self._add_pattern(Action.DENY, include, exclude, True)

    def _add_pattern(
        self, action: Action, include: GlobPattern, exclude: GlobPattern, empty: bool
    ) -> None:
        group = GlobGroup(include, exclude=exclude)
        self._patterns.append(Pattern(group, action, empty))

    def register_intern_hook(self, hook: _Hook) -> RemovableHandle:
        """Calls ``hook(exporter, name)`` for every module that is interned."""
        return self._register(Action.INTERN, hook)

    def register_extern_hook(self, hook: _Hook) -> RemovableHandle:
        """Calls ``hook(exporter, name)`` for every module that is left out."""
        return self._register(Action.EXTERN, hook)

    def register_mock_hook(self, hook: _Hook) -> RemovableHandle:
        """Calls ``hook(exporter, name)`` for every module that is mocked."""
        return self._register(Action.MOCK, hook)

    def _register(self, action: Action, hook: _Hook) -> RemovableHandle:
        handle = RemovableHandle(self._hooks[action])
        self._hooks[action][handle.id] = hook
        return handle

    # What is saved

    def save_source_file(
        self, module_name: str, file_or_directory: str, dependencies: bool = True
    ) -> None:
        """Packs a file as a module, or a folder as a package with all its modules."""
        path = Path(file_or_directory)
        if not path.is_dir():
            self.save_source_string(module_name, path.read_text(), False, dependencies)
            return
        for file in sorted(path.rglob("*.py")):
            parts = [module_name, *file.relative_to(path).with_suffix("").parts]
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            self.save_source_string(name, file.read_text(), is_package, dependencies)

    def save_source_string(
        self,
        module_name: str,
        src: str,
        is_package: bool = False,
        dependencies: bool = True,
    ) -> None:
        """Packs a text as the source of a module."""
        self._graph.provide(module_name, Action.INTERN, src, is_package)
        if dependencies:
            self._need_imports_of(module_name, src, is_package)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Packs an importable module."""
        if not isinstance(module_name, str):
            raise TypeError(
                f"save_module takes the name of a module, not {module_name!r:.80}"
            )
        self._graph.need(module_name)
        self._intern(module_name, dependencies)

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Packs a text file."""
        self.save_binary(package, resource, text.encode())

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Packs the bytes of a file."""
        self._write(f"{package.replace('.', '/')}/{resource}", binary)

    def save_pickle(
        self,
        package: str,
        resource: str,
        obj: Any,
        dependencies: bool = True,
        pickle_protocol: int = 3,
    ) -> None:
        """Packs an object as a pickle, with the modules of its classes."""
        if pickle_protocol not in (3, 4):
            raise ValueError(f"pickle_protocol is 3 or 4, not {pickle_protocol!r}")
        data = io.BytesIO()
        PackagePickler(data, pickle_protocol, self, self._storages).dump(obj)
        place = f"<{package}.{resource}>"
        if dependencies:
            self._graph.provide(place, Action.PICKLE)
            for module_name in modules_named(data.getvalue()):
                self._graph.connect(place, module_name)
                self.add_dependency(module_name)
                self._refuse_used_mock(module_name)
        self.save_binary(package, resource, data.getvalue())

    def _refuse_used_mock(self, module_name: str) -> None:
        if self._graph.action_of(module_name) is Action.MOCK:
            reason = PackagingErrorReason.MOCKED_BUT_STILL_USED
            self._graph.refuse(module_name, reason)

    # Dependencies

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Treats a module as the patterns say."""
        if self._graph.is_decided(module_name) or module_name == _IMPORTER_MODULE:
            return
        if module_name == _MOCK_MODULE:
            self._graph.provide(module_name, Action.INTERN, _MOCK_SOURCE)
            return
        self._graph.need(module_name)
        if is_left_to_environment(module_name):
            return self._decide(module_name, Action.EXTERN)
        for pattern in self._patterns:
            if pattern.group.matches(module_name):
                pattern.was_matched = True
                if pattern.action is Action.INTERN:
                    return self._intern(module_name, dependencies)
                return self._decide(module_name, pattern.action)
        self._graph.refuse(module_name, PackagingErrorReason.NO_ACTION)

    def _decide(self, module_name: str, action: Action) -> None:
        if action is Action.DENY:
            self._graph.refuse(module_name, PackagingErrorReason.DENIED)
            return
        source = _MOCKED.format(_MAKE_MOCK) if action is Action.MOCK else None
        self._graph.provide(module_name, action, source)
        if action is Action.MOCK:
            self.add_dependency(_MOCK_MODULE)
        for hook in list(self._hooks[action].values()):
            hook(self, module_name)

    def _intern(self, module_name: str, dependencies: bool) -> None:
        source, is_package, problem = source_of(self.importer, module_name)
        if source is None:
            self._graph.refuse(module_name, *problem)
            return
        self._graph.provide(module_name, Action.INTERN, source, is_package)
        for hook in list(self._hooks[Action.INTERN].values()):
            hook(self, module_name)
        if dependencies:
            self._need_imports_of(module_name, source, is_package)

    def _need_imports_of(self, module_name: str, source: str, is_package: bool) -> None:
        package = module_name if is_package else module_name.rpartition(".")[0]
        try:
            found = find_files_source_depends_on(source, package)
        except (SyntaxError, ImportError) as error:
            reason = PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED
            return self._graph.refuse(module_name, reason, str(error))
        for module, name in found:
            inner = f"{module}.{name}" if name and name != "*" else None
            needed = inner if inner and self._is_module(inner) else module
            self._graph.connect(module_name, needed)
            self.add_dependency(needed)

    def _is_module(self, name: str) -> bool:
        if is_left_to_environment(name):
            return False  # its parent is enough
        if self._graph.is_decided(name):
            return True
        try:
            self.importer.import_module(name)
        except Exception:
            return False
        return True

    # What the graph says

    def _named(self, action: Action) -> list[str]:
        return self._graph.with_action(action)

    def interned_modules(self) -> list[str]:
        """The modules whose sources are packed."""
        return self._named(Action.INTERN)

    def externed_modules(self) -> list[str]:
        """The modules that the environment must have."""
        return self._named(Action.EXTERN)

    def mocked_modules(self) -> list[str]:
        """The modules that have stand-ins."""
        return self._named(Action.MOCK)

    def denied_modules(self) -> list[str]:
        """The modules that a ``deny`` pattern refused."""
        return self._graph.refused_for(PackagingErrorReason.DENIED)

    def get_rdeps(self, module_name: str) -> list[str]:
        """The modules and pickles that need this module."""
        return self._graph.needed_by(module_name)

    def all_paths(self, src: str, dst: str) -> str:
        """Why one module needs another: all ways as a graph in Graphviz's language."""
        return self._graph.paths(src, dst)

    def dependency_graph_string(self) -> str:
        """All dependencies in Graphviz's language."""
        return self._graph.as_dot()

    def get_unique_id(self) -> str:
        """A new number, as text, for objects with ``__reduce_package__``."""
        self._number += 1
        return str(self._number - 1)

    # The archive

    def close(self) -> None:
        """Checks that every module has been decided, and writes what is left."""
        try:
            self._check()
            for name, source, is_package in self._graph.sources():
                end = "/__init__.py" if is_package else ".py"
                self._write(name.replace(".", "/") + end, source.encode())
            for key, whole in self._storages.values():
                self._write(f".data/{key}.storage", bytes_of(whole))
            extern = "".join(f"{name}\n" for name in self.externed_modules())
            self._write(".data/extern_modules", extern.encode())
            self._write(".data/python_version", platform.python_version().encode())
            self._write(".data/version", b"6\n")
            self._write("byteorder", b"little")
            self._write(".data/serialization_id", str(uuid.uuid4().int).encode())
        finally:
            self._file.close()

    def _check(self) -> None:
        if self._graph.has_problems():
            raise PackagingError(self._graph, self.debug)
        for pattern in self._patterns:
            if not pattern.allow_empty and not pattern.was_matched:
                raise EmptyMatchError(
                    f"{pattern.action.name.lower()} of {pattern.group} has "
                    "allow_empty=False, and no module of the package matches it"
                )

    def _write(self, name: str, data: bytes) -> None:
        if name in self._written:
            raise ValueError(f"the package has {name} twice; give one another name")
        self._written.add(name)
        self._file.writestr(f"{self._top}/{name}", data)


def is_left_to_environment(module_name: str) -> bool:
    """Whether a module is PyTorch's or the standard library's."""
    import sys

    first = module_name.partition(".")[0]
    if first in ("sys", "io"):  # they reach outside of the package: the program decides
        return False
    return first in ("torch", "pellucid", *sys.stdlib_module_names)

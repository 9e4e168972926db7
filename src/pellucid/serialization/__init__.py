"""``save`` and ``load``: PyTorch's file format, without running code from files.

A file is a zip archive: ``data.pkl`` describes the object and refers to the storages,
which are separate records of raw bytes. PyTorch reads files written here, and vice
versa. Loading builds tensors, numbers, strings, containers of them and objects of
classes that the program allowed; anything else is refused, unless the caller trusts the
file. Read ``serialization/_format/writer.py``, then
``serialization/_format/archive.py``.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

import pellucid
from pellucid._package.calls import offered
from pellucid._package.calls.ranges import ranged
from pellucid.serialization._format.archive import (
    Archive,
    Placement,
    constructors,
    naming_damage,
)
from pellucid.serialization._format.legacy_file import (
    LegacyFile,
    read_legacy,
    write_legacy,
)
from pellucid.serialization._format.locations import DevicePlacement
from pellucid.serialization._format.locations import (
    default_restore_location as default_restore_location,
)
from pellucid.serialization._format.locations import location_tag as location_tag
from pellucid.serialization._format.locations import (
    register_package as register_package,
)
from pellucid.serialization._format.options import LoadEndianness as LoadEndianness
from pellucid.serialization._format.options import (
    get_crc32_options as get_crc32_options,
)
from pellucid.serialization._format.options import (
    get_default_load_endianness as get_default_load_endianness,
)
from pellucid.serialization._format.options import (
    get_default_mmap_options as get_default_mmap_options,
)
from pellucid.serialization._format.options import (
    set_crc32_options as set_crc32_options,
)
from pellucid.serialization._format.options import (
    set_default_load_endianness as set_default_load_endianness,
)
from pellucid.serialization._format.options import (
    set_default_mmap_options as set_default_mmap_options,
)
from pellucid.serialization._format.options import skip_data as skip_data
from pellucid.serialization._format.options import skips_data
from pellucid.serialization._format.safe_pickle import NamesOf
from pellucid.serialization._format.writer import Writer, bytes_of
from pellucid.utils.serialization import config

_File = str | os.PathLike[str] | IO[bytes]
DEFAULT_PROTOCOL = 2  # of pickle, whichever Python writes
# The types of `map_location`.
MAP_LOCATION = Callable[[Any, str], Any] | pellucid.device | str | dict[str, str] | None


@offered.value
@ranged("torch.save")
def save(
    obj: Any,
    f: _File,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes ``obj``, usually a state dict, to a path or a binary file.

    Objects other than tensors, numbers, strings and containers are written by reference
    to their class, as pickle does; :func:`load` reads them only from trusted files.

    Example::

        torch.save(model.state_dict(), "model.pt")
    """
    if isinstance(f, str | os.PathLike):
        folder = os.path.dirname(os.path.abspath(f))
        if not os.path.isdir(folder):
            raise RuntimeError(f"save: there is no folder {folder}; make it first")
    description = io.BytesIO()
    is_legacy = not _use_new_zipfile_serialization
    writer = Writer(description, pickle_protocol, is_legacy=is_legacy)
    writer.dump(obj)
    if is_legacy:
        with _writable(f) as file:
            write_legacy(file, description.getvalue(), writer, pickle_protocol)
        return
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", description.getvalue())
        if not _disable_byteorder_record:
            archive.writestr("archive/byteorder", b"little")
        for key, whole in writer.storages.values():
            data = bytes(whole.nbytes) if skips_data() else bytes_of(whole)
            archive.writestr(f"archive/data/{key}", data)
        archive.writestr("archive/version", b"3\n")


@offered.value
@ranged("torch.load")
def load(
    f: _File,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what :func:`save`, here or in PyTorch, wrote to a path or binary file.

    Files are read without running code: objects other than tensors, numbers, strings
    and containers are refused with UnpicklingError, unless their class was given to
    :func:`add_safe_globals`. ``weights_only=False`` loads whole models and anything
    else, and runs code from the file: only for files that you trust. Tensors are loaded
    to the device that they were saved on if it has a backend here, else to the CPU.
    ``map_location``, a device or a dict from saved devices to devices, overrides this;
    for "meta" the values are not read. A function ``map_location`` is called with each
    storage and its saved device, and returns the storage to use, or None for the given
    one.

    Example::

        model.load_state_dict(torch.load("model.pt"))
    """
    placement = _placement(map_location)
    if mmap is None:
        mmap = config.load.mmap and isinstance(f, str | os.PathLike)
    if mmap and not isinstance(f, str | os.PathLike):
        raise ValueError("load: mmap=True needs the path of a file, not an open one")
    if weights_only and pickle_module is not None:
        raise RuntimeError("load: weights_only=True reads without a pickle_module")
    legacy = read_legacy(f)
    if legacy is not None:
        if weights_only is not False:
            return LegacyFile(legacy, placement).load(_safe_classes())
        return LegacyFile(legacy, placement).load_trusted()
    with _opened(f) as file:
        with naming_damage():
            archive = Archive(file, placement)
            if weights_only is not False:
                return archive.load(_safe_classes())
        return archive.load_trusted()


def _writable(f: _File) -> AbstractContextManager[IO[bytes]]:
    return open(f, "wb") if isinstance(f, str | os.PathLike) else nullcontext(f)


def _opened(f: _File) -> zipfile.ZipFile:
    """The archive; raises EOFError for an empty file, RuntimeError for a truncated
    archive and UnpicklingError for anything else.
    """
    start = 0 if isinstance(f, str | os.PathLike) else f.tell()
    try:
        with naming_damage():
            return zipfile.ZipFile(f)
    except pickle.UnpicklingError as error:
        if isinstance(f, str | os.PathLike):
            with open(f, "rb") as file:
                head = file.read(4)
        else:
            f.seek(start)
            head = f.read(4)
        if not head:
            raise EOFError("load: the file is empty") from error
        if head == b"PK\x03\x04":
            raise RuntimeError(
                f"load: the file is cut off or damaged: {error}"
            ) from error
        raise


def _placement(map_location: Any) -> Placement:
    """``map_location`` as a function of a storage and the device it was saved on."""
    if callable(map_location):
        place: Placement = map_location
        return place
    if isinstance(map_location, dict):
        return DevicePlacement(None, map_location)
    if not isinstance(map_location, str | pellucid.device | None):
        raise TypeError(
            "map_location is a device, its name, a dict of them, a function or None, "
            f"not a {type(map_location).__name__}"
        )
    return DevicePlacement(map_location, {})


_safe_globals: list[Any] = []


def _safe_classes() -> dict[str, Any]:
    """The classes and functions that the program allows files to use."""
    classes: dict[str, Any] = {}
    for entry in _safe_globals:
        if isinstance(entry, tuple):
            value, path = entry
            module, _, name = path.rpartition(".")
        else:
            value, module, name = entry, entry.__module__, entry.__qualname__
        classes[f"{module} {name}"] = value
    return classes


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets :func:`load` create objects of these classes and call these functions, for
    any file. An entry may be a pair: the value, and its name in files.
    """
    _safe_globals.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """The classes and functions of ``add_safe_globals``."""
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Clears the classes and functions of ``add_safe_globals``."""
    _safe_globals.clear()


def get_unsafe_globals_in_checkpoint(f: _File) -> list[str]:
    """The classes and functions in a file that :func:`load` would refuse, as
    "module.name". Raises ValueError unless it is a file of :func:`save`.
    """
    if read_legacy(f) is None:
        try:
            with _opened(f) as file:
                description = Archive(file).read("data.pkl")
        except (pickle.UnpicklingError, EOFError):
            pass
        else:
            return NamesOf(constructors(), _safe_classes()).unknown(description)
    raise ValueError("Expected input to be a checkpoint returned by torch.save")


class SourceChangeWarning(Warning):
    """A module's source differs from the saved one. Never emitted here."""


class safe_globals:
    """``add_safe_globals`` inside a ``with`` statement."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._added = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(self, *_: object) -> None:
        _safe_globals[:] = self._before


@offered.into("storage")
def _load_from_bytes(data: bytes) -> Any:
    """Reads a storage from a pickle of PyTorch, in which it is a saved file. Called by
    pickles, which the user trusts by unpickling them.
    """
    return load(io.BytesIO(data), weights_only=False)

"""PyTorch's file format before the zip archive, which its pickles still use.

Four consecutive pickles (a magic number, the format's version, facts about the machine,
the object), a fifth with the keys of the storages, and then each storage: its number of
elements and its bytes. Called by ``serialization/__init__.py`` and by
``storage._load_from_bytes``.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
from pickletools import genops
from typing import IO, Any

import pellucid
from pellucid import Tensor
from pellucid.serialization._format.archive import (
    Placement,
    TrustedUnpickler,
    constructors,
    placed,
)
from pellucid.serialization._format.safe_pickle import Reader
from pellucid.serialization._format.writer import Writer, bytes_of
from pellucid.storage import TypedStorage, UntypedStorage

_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
_START = pickle.dumps(_MAGIC, protocol=2)
_MACHINE = {
    "protocol_version": _VERSION,
    "little_endian": True,
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


def read_legacy(f: str | os.PathLike[str] | IO[bytes]) -> bytes | None:
    """The bytes of a file in this format, or None for one in another."""
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return read_legacy(file)
    start = f.tell()
    is_legacy = f.read(len(_START))[2:] == _START[2:]  # after the pickle's protocol
    f.seek(start)
    return f.read() if is_legacy else None


def write_legacy(
    file: IO[bytes], described: bytes, writer: Writer, protocol: int
) -> None:
    """Writes a pickled object and the storages that its ``writer`` has collected."""
    for header in (_MAGIC, _VERSION, _MACHINE):
        pickle.dump(header, file, protocol=protocol)
    file.write(described)
    storages = dict(sorted(writer.storages.values(), key=lambda pair: pair[0]))
    pickle.dump(list(storages), file, protocol=protocol)
    for whole in storages.values():
        file.write(struct.pack("<q", whole.numel()) + bytes_of(whole))


class LegacyFile:
    """Reads one file: builds the object, then fills its storages."""

    def __init__(self, data: bytes, placement: Placement | None = None) -> None:
        self._file = io.BytesIO(data)
        self._placement = placement
        self._storages: dict[str, tuple[Tensor, Any]] = {}
        self._read_header()
        self._description = self._next_pickle()

    def _next_pickle(self) -> bytes:
        start = self._file.tell()
        try:
            for _ in genops(self._file):
                pass
        except (ValueError, IndexError) as error:
            raise pickle.UnpicklingError(f"the file is damaged: {error}") from error
        return self._file.getvalue()[start : self._file.tell()]

    def _plain(self) -> Any:
        """The next pickle, of numbers, strings and containers."""
        return Reader({}, _no_reference, {}).load(self._next_pickle())

    def _read_header(self) -> None:
        magic, version, machine = self._plain(), self._plain(), self._plain()
        if magic != _MAGIC or version != _VERSION:
            raise pickle.UnpicklingError(
                f"the file is of the format's version {version!r:.40}, not {_VERSION}"
            )
        if not machine.get("little_endian", True):
            raise pickle.UnpicklingError("the file's byte order is not little")

    def load(self, safe_classes: dict[str, Any]) -> Any:
        """The object, built from tensors, numbers, containers and these classes."""
        reader = Reader(constructors(), self._referred, safe_classes)
        return self._filled(reader.load(self._description))

    def load_trusted(self) -> Any:
        """The object; imports and calls whatever the file names."""
        reader = TrustedUnpickler(self._description, self._referred, constructors())
        return self._filled(reader.load())

    def _referred(self, identifier: Any) -> Any:
        """The object of a persistent id: a storage, or a class with its source."""
        if identifier[0] == "module":
            return identifier[1]
        kind, dtype, key, location, count, *view = identifier
        if kind != "storage" or not isinstance(dtype, pellucid.dtype):
            raise pickle.UnpicklingError(f"unknown reference {identifier!r:.200}")
        if any(view):
            raise pickle.UnpicklingError(
                "the file has a storage that is a part of another one, as PyTorch "
                "before 0.4 wrote them; save it again with a later version"
            )
        if key not in self._storages:
            self._check_count(count, dtype)
            memory = UntypedStorage(count * dtype.itemsize)
            memory = placed(memory, location, self._placement)
            whole = pellucid.empty(0, dtype=pellucid.uint8, device=memory.device)
            self._storages[key] = whole.set_(memory), dtype
        whole, dtype = self._storages[key]
        return TypedStorage(wrap_storage=whole.untyped_storage(), dtype=dtype)

    def _check_count(self, count: Any, dtype: Any) -> None:
        left = len(self._file.getvalue()) - self._file.tell()
        if not isinstance(count, int) or not 0 <= count * dtype.itemsize <= left:
            raise pickle.UnpicklingError(
                f"the file is cut off or damaged: a storage of {count!r:.40} elements "
                f"does not match the {left} bytes that follow"
            )

    def _filled(self, loaded: Any) -> Any:
        """Reads the bytes of the storages; returns ``loaded``."""
        for key in self._plain():
            if key not in self._storages:
                raise pickle.UnpicklingError(f"nothing refers to storage {key!r:.40}")
            whole, dtype = self._storages.pop(key)
            size, data = whole.numel(), self._file.read(8)
            stored = struct.unpack("<q", data)[0] if len(data) == 8 else -1
            data = self._file.read(size)
            if stored * dtype.itemsize != size or len(data) != size:
                raise pickle.UnpicklingError("the file is cut off or damaged")
            if size and not whole.is_meta:
                read = pellucid.frombuffer(bytearray(data), dtype=pellucid.uint8)
                whole.copy_(read)
        if self._storages:
            raise pickle.UnpicklingError("the file lacks the bytes of a storage")
        return loaded


def _no_reference(identifier: Any) -> Any:
    raise pickle.UnpicklingError("a header refers to a storage")

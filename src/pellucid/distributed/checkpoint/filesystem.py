"""Checkpoints as folders: one file of parts per process, and ``.metadata``.

The format is PyTorch's, for reading and writing. Files are written under temporary
names and renamed when complete, ``.metadata`` last: a folder with it is a complete
checkpoint. Pickles are read by the safe unpickler.
"""

from __future__ import annotations

import copyreg
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pellucid as torch
from pellucid.distributed.checkpoint import metadata as records
from pellucid.distributed.checkpoint.metadata import Metadata
from pellucid.serialization._format.safe_pickle import Reader
from pellucid.serialization._format.writer import STORAGE_DTYPES, Writer

__all__ = ["FileSystemReader", "FileSystemWriter"]

_METADATA = ".metadata"


@dataclass
class _StorageInfo:
    """The location of a stored part."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None


def _replace(path: Path, write: Callable[[Any], None]) -> None:
    """Writes a file atomically."""
    temporary = path.with_name(f"{path.name}.tmp{os.getpid()}")
    with open(temporary, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


class FileSystemWriter:
    """Writes a checkpoint into a folder, which it creates."""

    def __init__(self, path: str | os.PathLike[str], **_: Any) -> None:
        self.path = Path(path)

    def write(self, rank: int, items: list[tuple[Any, Any]]) -> dict[Any, Any]:
        """Stores values by index; returns their locations."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not items:
            return {}
        name, found = f"__{rank}_0.distcp", {}

        def write(file: Any) -> None:
            for index, value in items:
                data = io.BytesIO()
                torch.save(value, data)
                place = file.tell()
                file.write(data.getbuffer())
                found[index] = _StorageInfo(name, place, file.tell() - place)

        _replace(self.path / name, write)
        return found

    def begin(self) -> None:
        """Marks the folder as an incomplete checkpoint."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / _METADATA).unlink(missing_ok=True)

    def finish(self, metadata: Metadata) -> None:
        """Marks the checkpoint as complete."""
        _replace(self.path / _METADATA, lambda f: _MetadataWriter(f, 2).dump(metadata))


class _MetadataWriter(Writer):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, records.TensorProperties):
            made = copyreg.__newobj__, (records.TensorProperties,)  # type: ignore[attr-defined]
            return (*made, value.as_stored())
        return super().reducer_override(value)


class FileSystemReader:
    """Reads a checkpoint from a folder."""

    def __init__(self, path: str | os.PathLike[str], **_: Any) -> None:
        self.path = Path(path)
        self._known: tuple[Any, Any] | None = None

    def read_metadata(self) -> Metadata:
        """The metadata of the checkpoint."""
        place = self.path / _METADATA
        if not place.exists():
            raise FileNotFoundError(
                f"{self.path} is not a complete checkpoint: it has no {_METADATA}"
            )
        kinds = [getattr(records, name) for name in records.__all__]
        base = "torch.distributed.checkpoint"
        allowed = {f"{base}.metadata {kind.__name__}": kind for kind in kinds}
        allowed |= {f"{base} {kind.__name__}": kind for kind in kinds}
        order = records._MEM_FORMAT_ENCODING
        allowed[f"{base}.metadata {order.__name__}"] = order
        allowed[f"{base}.filesystem _StorageInfo"] = _StorageInfo
        found = Reader(_NAMED(), _refuse, allowed).load(place.read_bytes())
        if not isinstance(found, Metadata):
            raise RuntimeError(f"{place} is not the metadata of a checkpoint")
        return found

    def read(self, info: Any) -> Any:
        """A part's tensor, or another value."""
        key = info.relative_path, info.offset
        if self._known is None or self._known[0] != key:
            if getattr(info, "transform_descriptors", None):
                raise NotImplementedError("parts of this checkpoint are transformed")
            place = self.path / info.relative_path
            if place.resolve().parent != self.path.resolve():
                raise RuntimeError(f"{info.relative_path} is outside of {self.path}")
            with open(place, "rb") as file:
                file.seek(info.offset)
                data = io.BytesIO(file.read(info.length))
            self._known = key, torch.load(data, weights_only=True)
        return self._known[1]


def _refuse(_: Any) -> Any:
    raise RuntimeError("the metadata of a checkpoint has no storages")


def _NAMED() -> dict[str, Any]:
    dtypes = {
        f"torch {name}": getattr(torch, name) for name in {*STORAGE_DTYPES.values()}
    }
    return {
        **dtypes,
        "torch Size": torch.Size,
        "torch.serialization _get_layout": lambda name: name,
        "pathlib PosixPath": lambda *parts: str(Path(*parts)),
        "pathlib WindowsPath": lambda *parts: "\\".join(parts),
    }

"""The file ``.metadata``: a pickle with PyTorch's names, read without running code."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import pellucid as torch
from pellucid.distributed.checkpoint import metadata as records
from pellucid.distributed.checkpoint.metadata import Metadata
from pellucid.serialization._format.archive import constructors
from pellucid.serialization._format.names import public_name
from pellucid.serialization._format.safe_pickle import Reader
from pellucid.serialization._format.writer import Writer


def write_metadata(metadata: Metadata, file: IO[bytes]) -> None:
    """Writes metadata as PyTorch reads it."""
    Writer(file, 2).dump(metadata)


def read_metadata(data: bytes, *classes: type) -> Metadata:
    """The metadata in a file's bytes. Besides its own records it may have objects of
    ``classes``, and what ``torch.serialization.add_safe_globals`` allows.
    """
    allowed = {}
    own = [getattr(records, name) for name in records.__all__]
    for kind in (*own, records._MEM_FORMAT_ENCODING, *classes):
        for module in (kind.__module__.replace("pellucid", "torch", 1), _home(kind)):
            allowed[f"{module} {kind.__name__}"] = kind
    allowed |= torch.serialization._safe_classes()
    found = Reader({**constructors(), **_PATHS}, _refuse, allowed).load(data)
    if not isinstance(found, Metadata):
        raise RuntimeError(f"the file has a {type(found).__name__}, not the metadata")
    return found


def _home(kind: type) -> str:
    """The module under which a class is written."""
    place = public_name(kind)
    assert place is not None
    return place[0]


def _refuse(_: Any) -> Any:
    raise RuntimeError("the metadata of a checkpoint has no storages")


# Python 3.13 names another module.
_PATHS = {
    f"{module} {name}": made
    for module in ("pathlib", "pathlib._local")
    for name, made in (
        ("PosixPath", lambda *parts: str(Path(*parts))),
        ("WindowsPath", lambda *parts: "\\".join(parts)),
    )
}

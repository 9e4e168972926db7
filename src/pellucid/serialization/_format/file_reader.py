"""``torch.PyTorchFileReader``: the records of a file that ``save`` wrote, as bytes.

For libraries that load parts of a file themselves. ``archive.py`` describes the
records.
"""

from __future__ import annotations

import os
import zipfile
from typing import IO

from pellucid._package.calls import offered
from pellucid.serialization._format.archive import Archive, naming_damage


@offered.value
class PyTorchFileReader:
    """The records of a path or a binary file."""

    def __init__(self, file: str | os.PathLike[str] | IO[bytes]) -> None:
        with naming_damage():
            self._file = zipfile.ZipFile(file)
            self._archive = Archive(self._file)

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return self._archive.records()

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return name in self._archive.records()

    def get_record(self, name: str) -> bytes:
        """The bytes of a record; UnpicklingError if there is none."""
        with naming_damage():
            return self._archive.read(name)

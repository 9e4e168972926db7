"""File systems for checkpoints: the calls that a storage of files makes."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

_Path = str | os.PathLike[str]


class FileSystemBase(ABC):
    """What a storage needs of a file system; to implement for another one."""

    @abstractmethod
    def create_stream(self, path: _Path, mode: str) -> AbstractContextManager[Any]:
        """Opens a file."""

    @abstractmethod
    def concat_path(self, path: _Path, suffix: str) -> _Path:
        """The path of a file in a folder."""

    @abstractmethod
    def rename(self, path: _Path, new_path: _Path) -> None:
        """Renames a file, in one step, over another one if there is one."""

    @abstractmethod
    def init_path(self, path: _Path) -> _Path:
        """A path as the other calls take it."""

    @abstractmethod
    def mkdir(self, path: _Path) -> None:
        """Makes a folder unless it exists."""

    @classmethod
    @abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        """Whether this is a path of the file system."""

    @abstractmethod
    def exists(self, path: _Path) -> bool:
        """Whether there is a file or folder."""

    @abstractmethod
    def rm_file(self, path: _Path) -> None:
        """Deletes a file."""

    def ls(self, path: _Path) -> list[str]:
        """The paths in a folder, as this rank sees it. After a save each rank deletes
        those of them that it wrote for earlier ones: without ``ls`` all of them stay.
        """
        return []


class FileSystem(FileSystemBase):
    """The file systems of this machine."""

    @contextmanager
    def create_stream(self, path: _Path, mode: str) -> Iterator[Any]:
        with open(path, mode) as stream:
            yield stream

    def concat_path(self, path: _Path, suffix: str) -> _Path:
        return Path(path) / suffix

    def rename(self, path: _Path, new_path: _Path) -> None:
        os.replace(path, new_path)

    def init_path(self, path: _Path) -> _Path:
        return Path(path)

    def mkdir(self, path: _Path) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        if isinstance(checkpoint_id, Path):
            return True
        if "://" in str(checkpoint_id):
            return False
        above = Path(checkpoint_id).parents
        return any(path.exists() and os.access(path, os.W_OK) for path in above)

    def exists(self, path: _Path) -> bool:
        return Path(path).exists()

    def rm_file(self, path: _Path) -> None:
        Path(path).unlink()

    def ls(self, path: _Path) -> list[str]:
        return [str(each) for each in Path(path).iterdir()]

"""Pipes of files: their paths, the open files, their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from pellucid.utils.data.datapipes._decorator import functional_datapipe
from pellucid.utils.data.datapipes.datapipe import IterDataPipe
from pellucid.utils.data.datapipes.iter.utils import IterableWrapperIterDataPipe
from pellucid.utils.data.datapipes.utils.common import (
    get_file_binaries_from_pathnames,
    get_file_pathnames_from_root,
)

__all__ = [
    "FileListerIterDataPipe",
    "FileOpenerIterDataPipe",
    "StreamReaderIterDataPipe",
]


def _length(pipe: Any) -> int:
    if pipe.length == -1:
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return int(pipe.length)


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe[str]):
    """The paths of the files in folders, whose names match one of ``masks``."""

    def __init__(
        self,
        root: str | Sequence[str] | IterDataPipe[Any] = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        roots: Any = [root] if isinstance(root, str) else root
        if not isinstance(roots, IterDataPipe):
            roots = IterableWrapperIterDataPipe(roots)
        self.datapipe: IterDataPipe[Any] = roots
        self.masks, self.length = masks, length
        self._how = recursive, abspath, non_deterministic

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            yield from get_file_pathnames_from_root(root, self.masks, *self._how)

    def __len__(self) -> int:
        return _length(self)


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe[tuple[str, IO[Any]]]):
    """Pairs of a path and its open file."""

    def __init__(
        self,
        datapipe: Iterable[str],
        mode: str = "r",
        encoding: str | None = None,
        length: int = -1,
    ) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        self.datapipe, self.mode = datapipe, mode
        self.encoding, self.length = encoding, length

    def __iter__(self) -> Iterator[tuple[str, IO[Any]]]:
        yield from get_file_binaries_from_pathnames(
            self.datapipe, self.mode, self.encoding
        )

    def __len__(self) -> int:
        return _length(self)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[tuple[str, Any]]):
    """Pairs of a path and its file's contents, in chunks of ``chunk`` bytes."""

    def __init__(
        self, datapipe: IterDataPipe[tuple[str, IO[Any]]], chunk: int | None = None
    ) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        size = -1 if self.chunk is None else self.chunk
        for path, stream in self.datapipe:
            while piece := stream.read(size):
                yield path, piece
            stream.close()

"""Checkpoints as folders: files of parts for each process, and ``.metadata``.

The format is PyTorch's, for reading and writing. A save overwrites no file of the
checkpoint before: it writes files of other names, then replaces ``.metadata`` in one
step, then each rank deletes its old files. So a folder has a complete checkpoint at
any time. Pickles are read without running code.
"""

from __future__ import annotations

import contextlib
import io
import json
import operator
import os
import re
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import PurePath
from typing import IO, Any, Final

import pellucid as torch
from pellucid import safetensors
from pellucid.distributed.checkpoint._extension import (
    ExtensionRegistry,
    StreamTransformExtension,
)
from pellucid.distributed.checkpoint._files import FileSystem, FileSystemBase
from pellucid.distributed.checkpoint._hf_utils import (
    CUSTOM_METADATA_KEY,
    DCP_VERSION_KEY,
    FORMAT_KEY,
    FORMAT_VALUE,
    HF_DCP_VERSION,
    SAVED_OFFSETS_KEY,
)
from pellucid.distributed.checkpoint._metadata_file import (
    read_metadata,
    write_metadata,
)
from pellucid.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    Metadata,
    StorageMeta,
)
from pellucid.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from pellucid.distributed.checkpoint.staging import BlockingAsyncStager
from pellucid.distributed.checkpoint.storage import (
    StorageReader,
    StorageWriter,
    WriteResult,
)
from pellucid.distributed.checkpoint.utils import (
    _create_file_view,
    narrow_tensor_by_index,
)
from pellucid.futures import Future

__all__ = [
    "FileSystem",
    "FileSystemBase",
    "FileSystemReader",
    "FileSystemWriter",
    "SerializationFormat",
]

_metadata_fn = ".metadata"
CURRENT_DCP_VERSION: Final = "1.0.0"
DEFAULT_SUFFIX = ".distcp"
_ANY_PREFIX = r"__\d+_"

_Path = str | os.PathLike[str]


@dataclass
class _StorageInfo:
    """The location of a stored part, and the extensions that transformed it."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if value is not None}


@dataclass
class _StoragePrefix:
    """How the names of a rank's files begin."""

    prefix: str


class SerializationFormat(Enum):
    """What the files are: archives of ``torch.save``, or safetensors."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


def _generate_uuid() -> str:
    return str(uuid.uuid4())


def _finished(value: Any) -> Future:
    future = Future()
    future.set_result(value)
    return future


def _synchronize(stream: Any) -> None:
    """Waits until a file's bytes are on the device."""
    stream.flush()
    try:
        os.fsync(stream.fileno())
    except (AttributeError, io.UnsupportedOperation):
        os.sync()


class _KeepsOpen(io.RawIOBase):
    """A file whose ``close`` leaves the file below open, for the next item."""

    def __init__(self, below: Any) -> None:
        super().__init__()
        self._below = below

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return int(self._below.write(data))


class _StorageWriterTransforms:
    """The extensions of a writer."""

    def __init__(
        self, extensions: Sequence[StreamTransformExtension] | None = None
    ) -> None:
        self.extensions = () if extensions is None else extensions

    def transform_save_stream(
        self, write_item: WriteItem, raw_stream: Any
    ) -> tuple[IO[bytes], list[str]]:
        """A file for an item's bytes, and what its reader must undo."""
        stream: Any = _KeepsOpen(raw_stream)
        for extension in self.extensions:
            stream = extension.transform_to(stream)
        return stream, [each.get_descriptor() for each in reversed(self.extensions)]


class _StorageReaderTransforms:
    """The extensions that a reader knows."""

    def __init__(self, extension_registry: ExtensionRegistry | None = None) -> None:
        self.extension_registry = extension_registry or ExtensionRegistry()

    def transform_load_stream(
        self,
        read_item: ReadItem,
        transform_descriptors: Sequence[str],
        raw_stream: Any,
    ) -> Any:
        """A file of an item's bytes as they were before the transformations."""
        known = self.extension_registry.from_descriptor_list(transform_descriptors)
        for extension in known:
            if isinstance(extension, StreamTransformExtension):
                raw_stream = extension.transform_from(raw_stream)
        return raw_stream


def _item_size(item: WriteItem) -> int:
    return item.tensor_storage_size() or 0


def _split_by_size_and_type(bins: int, items: list[WriteItem]) -> list[list[WriteItem]]:
    """Items for so many files, with about as many bytes each."""
    if bins == 1:
        return [items]
    buckets: list[list[WriteItem]] = [[] for _ in range(bins)]
    sizes = [0] * bins
    tensors = [item for item in items if item.type != WriteItemType.BYTE_IO]
    others = [item for item in items if item.type == WriteItemType.BYTE_IO]
    for number, item in enumerate(others):
        buckets[number % bins].append(item)
    for item in sorted(tensors, key=_item_size, reverse=True):
        least = min(range(bins), key=sizes.__getitem__)
        buckets[least].append(item)
        sizes[least] += _item_size(item)
    return buckets


def _compact(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor on the CPU, in memory of its own size."""
    tensor = tensor.detach().cpu()
    is_view = tensor.untyped_storage().nbytes() != tensor.nbytes
    return tensor.clone() if is_view else tensor


class _FileSystemWriter(StorageWriter):
    """Writes a checkpoint into a folder; see ``FileSystemWriter``."""

    fs: FileSystemBase

    def __init__(
        self,
        path: _Path,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        overwrite: bool = True,
        _extensions: Sequence[StreamTransformExtension] | None = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.single_file_per_rank = single_file_per_rank
        self.sync_files = sync_files
        self.thread_count = thread_count
        self.per_thread_copy_ahead = per_thread_copy_ahead
        self.save_id = _generate_uuid()
        self.overwrite = overwrite
        self.transforms = _StorageWriterTransforms(_extensions)
        self.serialization_format = serialization_format
        self.rank: int | None = None
        self.use_collectives = True
        self._written: tuple[str, set[str]] | None = None  # prefix and names of files

    def reset(self, checkpoint_id: _Path | None = None) -> None:
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = _generate_uuid()

    def set_up_storage_writer(
        self, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.rank = kwargs.get("rank")
        self.use_collectives = kwargs.get("use_collectives", True)

    def _metadata_exists(self) -> bool:
        rank = None if self.use_collectives else self.rank
        return self.fs.exists(self._get_metadata_path(rank))

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.fs.mkdir(self.path)
        if self._metadata_exists():
            if not self.overwrite:
                raise RuntimeError(f"Checkpoint already exists and {self.overwrite=}.")
            warnings.warn(
                f"Detected an existing checkpoint in {self.path}, which is replaced "
                f"since {self.overwrite=}.",
                stacklevel=2,
            )
        if self.rank is not None and not self.use_collectives:
            plan = replace(plan, storage_data=_StoragePrefix(f"__{self.rank}_"))
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return [
            replace(plan, storage_data=_StoragePrefix(f"__{rank}_"))
            if plan.storage_data is None
            else plan
            for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        parts = [[item] for item in plan.items]
        if self.single_file_per_rank:
            parts = _split_by_size_and_type(self.thread_count, plan.items)
        prefix = plan.storage_data.prefix
        names = self._unused_names(prefix)
        files = [(next(names), items) for items in parts if items]
        self._written = prefix, {name for name, _ in files}
        return self._write_data(planner, files)

    def _unused_names(self, prefix: str) -> Iterator[str]:
        """Names of files that do not exist."""
        number = 0
        while True:
            name = f"{prefix}{number}{DEFAULT_SUFFIX}"
            if not self.fs.exists(self.fs.concat_path(self.path, name)):
                yield name
            number += 1

    def _write_data(
        self, planner: SavePlanner, files: list[tuple[str, list[WriteItem]]]
    ) -> Future:
        """Writes files of items, on ``thread_count`` threads."""

        def write(named: tuple[str, list[WriteItem]]) -> list[WriteResult]:
            return self._write_items(planner, *named)

        if self.thread_count == 1 or len(files) < 2:
            found = [write(named) for named in files]
        else:
            with ThreadPoolExecutor(self.thread_count) as threads:
                found = list(threads.map(write, files))
        return _finished([result for part in found for result in part])

    def _write_items(
        self, planner: SavePlanner, name: str, items: list[WriteItem]
    ) -> list[WriteResult]:
        is_archive = self.serialization_format is SerializationFormat.TORCH_SAVE
        results: list[WriteResult] = []
        tensors: dict[str, torch.Tensor] = {}
        offsets: dict[str, Any] = {}

        def write(stream: Any) -> None:
            for item in sorted(items, key=lambda i: i.type != WriteItemType.BYTE_IO):
                value = planner.resolve_data(item)
                if isinstance(value, torch.Tensor):
                    value = _compact(value)
                if is_archive or not isinstance(value, torch.Tensor):
                    results.append(self._write_item(stream, name, item, value))
                    continue
                if item.tensor_data is None:
                    raise AssertionError(f"the item for {item.index} has no chunk")
                tensors[item.index.fqn] = value
                begin = list(item.tensor_data.chunk.offsets)
                offsets[item.index.fqn] = {SAVED_OFFSETS_KEY: begin}
                info = _StorageInfo(name, stream.tell(), value.nbytes)
                results.append(WriteResult(item.index, value.nbytes, info))
            if not is_archive:
                notes = {
                    CUSTOM_METADATA_KEY: json.dumps(offsets),
                    DCP_VERSION_KEY: str(HF_DCP_VERSION),
                    FORMAT_KEY: FORMAT_VALUE,
                }
                stream.write(safetensors.save(tensors, notes))

        self._write_file(self.fs.concat_path(self.path, name), write)
        return results

    def _write_item(
        self, stream: Any, name: str, item: WriteItem, value: Any
    ) -> WriteResult:
        """Appends an item to a file."""
        begin = stream.tell()
        target, descriptors = self.transforms.transform_save_stream(item, stream)
        if isinstance(value, torch.Tensor):
            torch.save(value, target)
        else:
            target.write(value.getbuffer())
        target.close()
        length = stream.tell() - begin
        info = _StorageInfo(name, begin, length, descriptors or None)
        return WriteResult(item.index, length, info)

    def _write_file(self, path: _Path, write: Callable[[Any], None]) -> None:
        """Writes a file that exists only once it is complete."""
        temporary = self.fs.concat_path(self.path, f"{PurePath(path).name}.tmp")
        try:
            with self.fs.create_stream(temporary, "wb") as stream:
                write(stream)
                if self.sync_files:
                    _synchronize(stream)
        except BaseException:
            with contextlib.suppress(OSError):
                self.fs.rm_file(temporary)
            raise
        self.fs.rename(temporary, path)

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.version = CURRENT_DCP_VERSION
        metadata.storage_data = {
            result.index: result.storage_data for part in results for result in part
        }
        metadata.storage_meta = self.storage_meta()
        rank = None if self.use_collectives else self.rank
        self._write_file(
            self._get_metadata_path(rank),
            lambda stream: write_metadata(metadata, stream),
        )
        if self.use_collectives:  # ranks of earlier saves may be none now
            infos = metadata.storage_data.values()
            self._delete_files(_ANY_PREFIX, {info.relative_path for info in infos})

    def _delete_outdated(self) -> None:
        if self._written is not None:
            prefix, names = self._written
            self._delete_files(re.escape(prefix), names)

    def _delete_files(self, prefix: str, named: set[str]) -> None:
        """Deletes the files of earlier saves, complete or not: those not ``named``. Not
        in a folder where ranks have saved both together and each by itself: files of
        either checkpoint have such names.
        """
        paths = {PurePath(path).name: path for path in self.fs.ls(self.path)}
        described = {name for name in paths if name.endswith(_metadata_fn)}
        if self.use_collectives:
            is_shared = not described <= {_metadata_fn}
        else:
            is_shared = _metadata_fn in described
        if is_shared:
            return
        written = re.compile(rf"{prefix}\d+{re.escape(DEFAULT_SUFFIX)}(\.tmp)?")
        for name, path in paths.items():
            if name not in named and written.fullmatch(name):
                self.fs.rm_file(path)

    def storage_meta(self) -> StorageMeta | None:
        return StorageMeta(checkpoint_id=self.checkpoint_id, save_id=self.save_id)

    def _get_metadata_path(self, rank: int | None = None) -> _Path:
        name = _metadata_fn if rank is None else f"__{rank}{_metadata_fn}"
        return self.fs.concat_path(self.path, name)

    @property
    def checkpoint_id(self) -> _Path:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FileSystemWriter(_FileSystemWriter, BlockingAsyncStager):
    """Writes a checkpoint into a folder, which it makes.

    ``single_file_per_rank``: otherwise each value has a file. ``sync_files``: files are
    on the device before the checkpoint counts as complete. ``thread_count``: so many
    threads write so many files. ``overwrite``: a checkpoint in the folder is replaced,
    otherwise an error. ``per_thread_copy_ahead``: the bytes to copy off a GPU while
    others are written; tensors on the CPU are not copied.

    A subclass may set ``fs`` to another FileSystemBase. That must implement ``ls``, by
    which each rank finds the files of earlier saves to delete.
    """

    def __init__(
        self,
        path: _Path,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Sequence[StreamTransformExtension] | None = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        _FileSystemWriter.__init__(
            self,
            path=path,
            single_file_per_rank=single_file_per_rank,
            sync_files=sync_files,
            thread_count=thread_count,
            per_thread_copy_ahead=per_thread_copy_ahead,
            overwrite=overwrite,
            _extensions=_extensions,
            serialization_format=serialization_format,
        )
        BlockingAsyncStager.__init__(self, cache_staged_state_dict)

    def stage(self, state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
        """A copy of the state, on the CPU: nothing is left to copy ahead."""
        self.per_thread_copy_ahead = 0
        return super().stage(state_dict)


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder."""

    fs: FileSystemBase

    def __init__(
        self, path: _Path, _extension_registry: ExtensionRegistry | None = None
    ) -> None:
        super().__init__()
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.storage_data: dict[Any, Any] = {}
        self.load_id = _generate_uuid()
        self.transforms = _StorageReaderTransforms(_extension_registry)
        self.rank: int | None = None
        self.use_collectives = True

    def reset(self, checkpoint_id: _Path | None = None) -> None:
        self.storage_data = {}
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.load_id = _generate_uuid()

    def _get_metadata_path(self, rank: int | None = None) -> _Path:
        name = _metadata_fn if rank is None else f"__{rank}{_metadata_fn}"
        return self.fs.concat_path(self.path, name)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        path = self._get_metadata_path(kwargs.get("rank"))
        if not self.fs.exists(path):
            raise FileNotFoundError(
                f"{self.path} is not a complete checkpoint: it has no "
                f"{PurePath(path).name}"
            )
        with self.fs.create_stream(path, "rb") as file:
            metadata = read_metadata(file.read(), _StorageInfo, _StoragePrefix)
        if metadata.storage_meta is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.storage_data = metadata.storage_data
        self.rank = kwargs.get("rank")
        self.use_collectives = kwargs.get("use_collectives", True)
        if self.storage_data is None:
            raise AssertionError("storage_data must not be None in metadata")

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Reads each stored part once, file by file in order."""
        files: dict[str, dict[int, list[ReadItem]]] = {}
        for item in plan.items:
            info = self.storage_data[item.storage_index]
            places = files.setdefault(info.relative_path, {})
            places.setdefault(info.offset, []).append(item)
        for name, places in files.items():
            with self.fs.create_stream(self._path_of(name), "rb") as stream:
                for _, items in sorted(places.items(), key=operator.itemgetter(0)):
                    self._read_part(stream, items, planner)
        return _finished(None)

    def _path_of(self, name: str) -> _Path:
        path = PurePath(name)
        if path.is_absolute() or ".." in path.parts:
            raise RuntimeError(f"{name} is outside of {self.path}")
        return self.fs.concat_path(self.path, name)

    def _slice_file(self, file: Any, sinfo: _StorageInfo) -> Any:
        return _create_file_view(file, sinfo.offset, sinfo.length)

    def _read_part(
        self, stream: Any, items: list[ReadItem], planner: LoadPlanner
    ) -> None:
        """Reads a stored part for the items that need it."""
        info = self.storage_data[items[0].storage_index]
        part = self.transforms.transform_load_stream(
            items[0], info.transform_descriptors or (), self._slice_file(stream, info)
        )
        if items[0].type == LoadItemType.BYTE_IO:
            data = part.read()
            for item in items:
                planner.load_bytes(item, io.BytesIO(data))
            return
        if not part.seekable():
            part = io.BytesIO(part.read())
        tensor = torch.load(part, map_location="cpu", weights_only=True)
        for item in items:
            box = narrow_tensor_by_index(tensor, item.storage_offsets, item.lengths)
            _fill(item, box, planner)

    @property
    def checkpoint_id(self) -> _Path:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)


def _fill(item: ReadItem, box: torch.Tensor, planner: LoadPlanner) -> None:
    """Copies what an item has read to where the planner wants it."""
    target = planner.resolve_tensor(item).detach()
    if target.size() != box.size():
        raise AssertionError(
            f"req {item.storage_index} mismatch sizes {target.size()} vs {box.size()}"
        )
    target.copy_(box.detach())
    planner.commit_tensor(item, target)

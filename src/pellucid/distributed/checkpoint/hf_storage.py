"""Checkpoints in safetensors files, as transformers reads them."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pellucid as torch
from pellucid.distributed.checkpoint._consolidate_hf_safetensors import (
    consolidate_safetensors_files,
)
from pellucid.distributed.checkpoint._hf_utils import (
    SHARDED_DIR_NAME,
    SUFFIX,
    _gen_file_name,
    _HFStorageInfo,
    _metadata_fn,
    stored_parts,
)
from pellucid.distributed.checkpoint.filesystem import (
    FileSystemReader,
    FileSystemWriter,
    SerializationFormat,
    _fill,
    _finished,
)
from pellucid.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from pellucid.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
)
from pellucid.distributed.checkpoint.storage import WriteResult
from pellucid.distributed.checkpoint.utils import narrow_tensor_by_index
from pellucid.futures import Future
from pellucid.safetensors import safe_open

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes tensors into safetensors files of a folder.

    ``fqn_to_index_mapping``: the number of each tensor's file, from 1 on; by default
    there is one. One rank alone may have tensors of a file. With ``save_distributed``
    each rank writes its parts into files of its own, which ``enable_consolidation``
    joins: the parts are then in the folder "sharded", the whole tensors in the given
    one.
    """

    def __init__(
        self,
        path: str,
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(
            path=path,
            serialization_format=SerializationFormat.SAFETENSORS,
            thread_count=thread_count,
        )
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed = save_distributed
        self.enable_consolidation = enable_consolidation
        self.consolidated_output_path: str | None = None
        if enable_consolidation:
            self.consolidated_output_path = str(self.path)
            self.path = self.fs.concat_path(self.path, SHARDED_DIR_NAME)
        self.thread_count_consolidation = thread_count_consolidation

    def set_up_storage_writer(
        self, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        super().set_up_storage_writer(is_coordinator, *args, **kwargs)
        if self.rank and not self.use_collectives:
            raise ValueError(
                "HuggingFaceStorageWriter numbers the files of all ranks: several "
                "cannot save without collectives"
            )

    def _metadata_exists(self) -> bool:
        """Whether there are files that a reader of the folder would read."""
        return any(str(path).endswith(SUFFIX) for path in self.fs.ls(self.path))

    def _files_of(self, plan: SavePlan) -> dict[int, list[WriteItem]]:
        """The items of a plan by the number of their file."""
        numbers = self.fqn_to_index_mapping
        files: dict[int, list[WriteItem]] = {}
        for item in plan.items:
            number = numbers[item.index.fqn] if numbers else 1
            files.setdefault(number, []).append(item)
        return files

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        counts = Counter(number for plan in plans for number in self._files_of(plan))
        shared = sorted(number for number, count in counts.items() if count > 1)
        if shared and not self.save_distributed:
            raise ValueError(
                f"several ranks have tensors of the files {shared}: pass "
                "save_distributed=True, or a planner by which one rank stores them"
            )
        found = []
        for number, plan in enumerate(plans, start=1):
            notes: dict[str, Any] = {}
            if self.fqn_to_index_mapping is not None:
                notes["fqn_to_index_mapping"] = self.fqn_to_index_mapping
            if self.save_distributed:
                notes["shard_index"] = number
            found.append(replace(plan, storage_data=notes))
        return found

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        numbers = plan.storage_data.get("fqn_to_index_mapping")
        shard = plan.storage_data.get("shard_index")
        last = max(numbers.values()) if numbers else 1
        files = self._files_of(plan)
        named = [(_gen_file_name(k, last, shard), files[k]) for k in files]
        return self._write_data(planner, named)

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        if not self.save_distributed:
            self._write_index([result for part in results for result in part])
        elif self.consolidated_output_path is not None:
            names = metadata.state_dict_metadata
            consolidate_safetensors_files(
                str(self.path),
                self.consolidated_output_path,
                self.fqn_to_index_mapping or dict.fromkeys(names, 1),
                self.thread_count_consolidation,
            )

    def _write_index(self, results: list[WriteResult]) -> None:
        """Writes which file has which tensor."""
        files = {r.index.fqn: r.storage_data.relative_path for r in results}
        total = sum(r.storage_data.length for r in results)
        index = {"metadata": {"total_size": total}, "weight_map": files}
        text = json.dumps(index, indent=2).encode()
        self._write_file(
            self.fs.concat_path(self.path, _metadata_fn),
            lambda stream: stream.write(text),
        )

    @property
    def metadata_path(self) -> str:
        """The name of the index."""
        return _metadata_fn


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files of a folder, on ``thread_count`` threads."""

    def __init__(self, path: str, thread_count: int = 1) -> None:
        super().__init__(path=path)
        self.thread_count = thread_count

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        files: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            info = self.storage_data[item.storage_index]
            files.setdefault(info.relative_path, []).append(item)

        def read(name: str) -> None:
            with safe_open(self._path_of(name)) as file:
                for item in files[name]:
                    whole = self._tensor_of(file, item.storage_index.fqn)
                    box = item.storage_offsets, item.lengths
                    _fill(item, narrow_tensor_by_index(whole, *box), planner)

        with ThreadPoolExecutor(max(1, self.thread_count)) as threads:
            list(threads.map(read, files))
        return _finished(None)

    def _tensor_of(self, file: Any, name: str) -> Any:
        """The values of a tensor in an open file."""
        return file.get_tensor(name)

    def read_metadata(self, *args: Any) -> Metadata:
        described: dict[str, Any] = {}
        stored: dict[MetadataIndex, _HFStorageInfo] = {}
        for name, key, tensor, offset in stored_parts(self.fs.ls(self.path)):
            chunk = ChunkStorageMetadata(torch.Size(offset), tensor.size())
            end = torch.Size(map(sum, zip(offset, tensor.shape, strict=True)))
            if key not in described:
                properties = TensorProperties(dtype=tensor.dtype)
                described[key] = TensorStorageMetadata(properties, end, [])
            known = described[key]
            known.size = torch.Size(map(max, zip(known.size, end, strict=True)))
            known.chunks.append(chunk)
            info = _HFStorageInfo(name, tensor.size(), tensor.dtype)
            stored[MetadataIndex(key, offset)] = info
        meta = StorageMeta(load_id=self.load_id)
        return Metadata(described, storage_data=stored, storage_meta=meta)

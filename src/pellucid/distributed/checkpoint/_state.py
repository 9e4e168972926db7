"""``save`` and ``load``: each process stores its parts, and reads the parts that
overlap its own, for any number of saving processes.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.checkpoint._flatten import put
from pellucid.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    DefaultSavePlanner,
    checked,
)
from pellucid.distributed.checkpoint.filesystem import (
    FileSystemReader,
    FileSystemWriter,
)
from pellucid.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from pellucid.distributed.tensor import DTensor
from pellucid.distributed.tensor._redistribute import line_of


def _is_shared(no_dist: bool) -> bool:
    return dist.is_initialized() and not no_dist


def _plain(state: Any) -> dict[str, Any]:
    """The state with objects that have a ``state_dict`` replaced by it."""
    return {
        name: value.state_dict() if hasattr(value, "state_dict") else value
        for name, value in state.items()
    }


def region(tensor: Any) -> tuple[list[int], list[int]]:
    """The offsets and sizes of this process's part."""
    if not isinstance(tensor, DTensor):
        return [0] * tensor.ndim, list(tensor.shape)
    offsets, sizes = [0] * tensor.ndim, list(tensor.shape)
    for mesh_dim, placement in enumerate(tensor.placements):
        if placement.is_partial():
            raise RuntimeError("partial sums cannot be saved: redistribute them")
        if placement.is_shard():
            dim = placement.dim  # type: ignore[attr-defined]
            line = line_of(tensor.device_mesh, mesh_dim)
            sizes[dim], first = line.part(sizes[dim])
            offsets[dim] += first
    return offsets, sizes


def _stores(value: Any) -> bool:
    """Whether this process is the first with its part."""
    if not isinstance(value, DTensor):
        return True
    if 0 in value._local_tensor.shape and 0 not in value.shape:
        return False
    place = value.device_mesh.get_coordinate() or []
    return all(
        index == 0 or not placement.is_replicate()
        for index, placement in zip(place, value.placements, strict=True)
    )


def _described(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return BytesStorageMetadata()
    properties = TensorProperties(value.dtype, bool(value.requires_grad))
    return TensorStorageMetadata(properties, tuple(value.shape), [])


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Saves a state to a folder, by all processes together.

    DTensors are stored in parts, other values by the first process that has them. For
    objects with ``state_dict()`` its result is stored. Example::

        save({"model": model.state_dict(), "step": 3}, checkpoint_id="checkpoint")
    """
    plan = checked(planner, DefaultSavePlanner)
    writer = storage_writer or FileSystemWriter(_required(checkpoint_id))
    values, paths = plan.values_of(_plain(state_dict))
    shared = _is_shared(no_dist)
    rank = dist.get_rank(process_group) if shared else 0
    if rank == 0:
        writer.begin()
    own = [name for name, v in values.items() if not isinstance(v, DTensor)]
    listed = _gathered(own, shared, process_group)
    taken = {name for names in listed[:rank] for name in names}
    items, chunks = [], []
    for name, value in values.items():
        if name in taken or not _stores(value):
            continue
        index = MetadataIndex(name)
        if isinstance(value, torch.Tensor):
            offsets, sizes = region(value)
            index = MetadataIndex(name, tuple(offsets))
            chunks.append((name, tuple(offsets), tuple(sizes)))
            local = getattr(value, "_local_tensor", value).detach()
            value = local.clone(memory_format=torch.contiguous_format)
        items.append((index, value))
    described = {name: _described(value) for name, value in values.items()}
    stored = writer.write(rank, items)
    parts = _gathered((described, chunks, stored, paths), shared, process_group)
    metadata = _joined(parts)
    if rank == 0:
        writer.finish(metadata)
    if shared:
        dist.barrier(process_group)
    return metadata


def _gathered(value: Any, shared: bool, group: Any) -> list[Any]:
    if not shared:
        return [value]
    found: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, value, group)
    return found


def _joined(parts: Sequence[Any]) -> Metadata:
    described: dict[str, Any] = {}
    storage: dict[Any, Any] = {}
    paths: dict[str, Any] = {}
    chunks = [chunk for part in parts for chunk in part[1]]
    for values, _, stored, own_paths in parts:
        described = {**values, **described}
        paths |= own_paths
        for index, info in stored.items():
            offset = None if index.offset is None else torch.Size(index.offset)
            storage[MetadataIndex(index.fqn, offset)] = info
    for value in described.values():
        if isinstance(value, TensorStorageMetadata):
            value.size = torch.Size(value.size)
    for name, offsets, sizes in chunks:
        part = ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))
        described[name].chunks.append(part)
    return Metadata(described, paths, storage)


def _required(checkpoint_id: Any) -> Any:
    if checkpoint_id is None:
        raise RuntimeError("Must specify checkpoint_id, the path of the checkpoint")
    return checkpoint_id


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fills a state from a checkpoint: tensors in place, other values replaced.

    The state determines what is loaded and how it is placed; the checkpoint may be from
    another number of processes, other placements, or PyTorch. Objects with
    ``load_state_dict`` receive their state by it.
    """
    plan = checked(planner, DefaultLoadPlanner)
    reader = storage_reader or FileSystemReader(_required(checkpoint_id))
    metadata = reader.read_metadata()
    plan.prepare(state_dict, metadata)
    plain = _plain(state_dict)
    values, paths = plan.values_of(plain)
    for name, value in values.items():
        if name not in metadata.state_dict_metadata:
            if plan.allow_partial_load:
                continue
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        if isinstance(value, torch.Tensor):
            _fill(name, value, metadata, reader)
        else:
            put(plain, paths[name], reader.read(_info(metadata, name, None)))
    for name, value in state_dict.items():
        if hasattr(value, "load_state_dict"):
            value.load_state_dict(plain[name])
        else:
            state_dict[name] = plain[name]


def _info(metadata: Metadata, name: str, offset: Any) -> Any:
    index = MetadataIndex(name, None if offset is None else torch.Size(offset))
    return metadata.storage_data[index]


def _fill(name: str, tensor: Any, metadata: Metadata, reader: Any) -> None:
    described = metadata.state_dict_metadata[name]
    if not isinstance(described, TensorStorageMetadata):
        raise RuntimeError(f"{name} is a tensor here but not in the checkpoint")
    if tuple(described.size) != tuple(tensor.shape):
        raise ValueError(
            f"Size mismatch between saved {described.size} and current: "
            f"{tensor.shape} for {name}"
        )
    offsets, sizes = region(tensor)
    target = getattr(tensor, "_local_tensor", tensor).detach()
    for chunk in described.chunks:
        here, there = [], []
        for first, size, start, length in zip(
            offsets, sizes, chunk.offsets, chunk.sizes, strict=True
        ):
            begin, end = max(first, start), min(first + size, start + length)
            here.append(slice(begin - first, end - first))
            there.append(slice(begin - start, end - start))
        if all(part.stop > part.start for part in here):
            stored = reader.read(_info(metadata, name, chunk.offsets))
            target[tuple(here)] = stored.detach()[tuple(there)]


_savers: dict[Any, ThreadPoolExecutor] = {}


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    **_: Any,
) -> Future[Metadata]:
    """``save`` of a copy of the state, on another thread; a Future of it.

    All processes call it in the same order. ``process_group`` must not be used
    elsewhere meanwhile; by default one is made, once.
    """
    if _is_shared(no_dist) and process_group is None:
        process_group = _group_of_savers()
    copied = copy.deepcopy(_plain(_detached(state_dict)))
    saver = _savers.setdefault(process_group, ThreadPoolExecutor(1, "checkpoint"))
    return saver.submit(
        save,
        copied,
        checkpoint_id=checkpoint_id,
        storage_writer=storage_writer,
        planner=planner,
        process_group=process_group,
        no_dist=no_dist,
    )


def _detached(state: Any) -> Any:
    if isinstance(state, torch.Tensor):
        return state.detach()
    if isinstance(state, dict):
        return {key: _detached(value) for key, value in state.items()}
    return state


_groups: dict[int, Any] = {}


def _group_of_savers() -> Any:
    world = id(dist.group.WORLD)
    if world not in _groups:
        _groups[world] = dist.new_group()
    return _groups[world]

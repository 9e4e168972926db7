"""Items of plans: for each value of a state, what to store or load."""

from __future__ import annotations

from typing import Any, cast

import pellucid as torch
from pellucid.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    STORAGE_TYPES,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from pellucid.distributed.checkpoint.planner import (
    LoadItemType,
    ReadItem,
    SavePlan,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from pellucid.distributed.checkpoint.resharding import (
    _check_shard_metadata_pair_overlap,
    _shards_get_overlap_region_wrt_saved_tensor,
)
from pellucid.distributed.tensor import DTensor
from pellucid.distributed.tensor._utils import compute_local_shape_and_global_offset

__all__ = ["create_read_items_for_chunk_list"]


def _compare_save_plans(plan: SavePlan, other_plan: SavePlan) -> bool:
    """Whether two plans store the same parts."""

    def facts(given: SavePlan) -> list[Any]:
        found = []
        for item in given.items:
            place = item.index.fqn, item.index.offset, item.index.index
            data = item.tensor_data
            found.append((item.type, place, data and (data.size, data.chunk)))
        return found

    same_use = plan.usable == other_plan.usable
    return same_use and facts(plan) == facts(other_plan)


def _contains_usable_plan(delta_plans: list[SavePlan]) -> bool:
    """Whether any plan has changed."""
    return any(plan and plan.usable for plan in delta_plans)


def _merge_delta_local_plans(
    cached_plans: list[SavePlan], delta_plans: list[SavePlan]
) -> list[SavePlan]:
    """The plans that have changed, and otherwise those of the save before."""
    pairs = zip(cached_plans, delta_plans, strict=True)
    return [new if new and new.usable else cached for cached, new in pairs]


# Items to store


def _create_chunk_from_dtensor(tensor: DTensor) -> ChunkStorageMetadata:
    """This process's part."""
    if any(placement.is_partial() for placement in tensor.placements):
        raise RuntimeError("partial sums cannot be saved or loaded: redistribute them")
    sizes, offsets = compute_local_shape_and_global_offset(
        tensor.shape, tensor.device_mesh, tensor.placements
    )
    return ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))


def _create_chunk_from_tensor(tensor: torch.Tensor) -> ChunkStorageMetadata:
    return ChunkStorageMetadata(torch.Size([0] * tensor.ndim), torch.Size(tensor.shape))


def _write_data(
    tensor: torch.Tensor, chunk: ChunkStorageMetadata, local: torch.Tensor
) -> TensorWriteData:
    properties = TensorProperties.create_from_tensor(local)
    return TensorWriteData(chunk, properties, torch.Size(tensor.shape))


def _create_write_items_for_dtensor(fqn: str, tensor: DTensor) -> WriteItem:
    chunk = _create_chunk_from_dtensor(tensor)
    return WriteItem(
        index=MetadataIndex(fqn, chunk.offsets),
        type=WriteItemType.SHARD,
        tensor_data=_write_data(tensor, chunk, tensor._local_tensor),
    )


def _create_write_item_for_tensor(fqn: str, tensor: torch.Tensor) -> WriteItem:
    chunk = _create_chunk_from_tensor(tensor)
    return WriteItem(
        index=MetadataIndex(fqn, chunk.offsets),
        type=WriteItemType.TENSOR,
        tensor_data=_write_data(tensor, chunk, tensor),
    )


def _create_write_item_for_bytesio(fqn: str, bytes: Any) -> WriteItem:
    return WriteItem(index=MetadataIndex(fqn), type=WriteItemType.BYTE_IO)


def _create_write_items(fqn: str, object: Any) -> list[WriteItem]:
    """The items for a value; a class of tensors may have its own
    ``__create_write_items__``.
    """
    if hasattr(object, "__create_write_items__"):
        return cast(list[WriteItem], object.__create_write_items__(fqn, object))
    if isinstance(object, DTensor):
        return [_create_write_items_for_dtensor(fqn, object)]
    if isinstance(object, torch.Tensor):
        return [_create_write_item_for_tensor(fqn, object)]
    return [_create_write_item_for_bytesio(fqn, object)]


def _create_default_metadata_only_plan(state_dict: STATE_DICT_TYPE) -> SavePlan:
    """A plan of all values."""
    pairs = state_dict.items()
    return SavePlan(
        [item for fqn, value in pairs for item in _create_write_items(fqn, value)]
    )


# Items to load


def _create_read_item_for_byteio(
    dest_index: MetadataIndex,
    dest_offset: int,
    storage_index: MetadataIndex,
    storage_offset: int,
    length: int,
) -> ReadItem:
    return ReadItem(
        type=LoadItemType.BYTE_IO,
        dest_index=dest_index,
        dest_offsets=torch.Size((dest_offset,)),
        storage_index=storage_index,
        storage_offsets=torch.Size((storage_offset,)),
        lengths=torch.Size((length,)),
    )


def _create_read_item_for_tensor(
    dest_index: MetadataIndex,
    dest_offsets: Any,
    storage_index: MetadataIndex,
    storage_offsets: Any,
    lengths: Any,
) -> ReadItem:
    return ReadItem(
        type=LoadItemType.TENSOR,
        dest_index=dest_index,
        dest_offsets=torch.Size(dest_offsets),
        storage_index=storage_index,
        storage_offsets=torch.Size(storage_offsets),
        lengths=torch.Size(lengths),
    )


def create_read_items_for_chunk_list(
    fqn: str,
    checkpoint_md: TensorStorageMetadata,
    local_chunks: list[ChunkStorageMetadata],
) -> list[ReadItem]:
    """The items that fill parts of a tensor with the stored parts they overlap."""
    found = []
    for local_index, local in enumerate(local_chunks):
        for saved_index, saved in enumerate(checkpoint_md.chunks):
            if not _check_shard_metadata_pair_overlap(local, saved):
                continue
            box = _shards_get_overlap_region_wrt_saved_tensor(saved, local)
            found.append(
                _create_read_item_for_tensor(
                    dest_index=MetadataIndex(fqn, local.offsets, local_index),
                    dest_offsets=[there for _, _, there, _ in box],
                    storage_index=MetadataIndex(fqn, saved.offsets, saved_index),
                    storage_offsets=[here for _, here, _, _ in box],
                    lengths=[length for _, _, _, length in box],
                )
            )
    return found


def _create_chunk_list(tensor: Any) -> list[ChunkStorageMetadata]:
    """The parts of a tensor that this process has."""
    if hasattr(tensor, "__create_chunk_list__"):
        return cast(list[ChunkStorageMetadata], tensor.__create_chunk_list__())
    if isinstance(tensor, DTensor):
        return [_create_chunk_from_dtensor(tensor)]
    if isinstance(tensor, torch.Tensor):
        return [_create_chunk_from_tensor(tensor)]
    raise ValueError(
        f"Unsupported Type, expecting one of [Tensor, DTensor], but got {type(tensor)}"
    )


def _create_read_items(fqn: str, md: STORAGE_TYPES, obj: Any) -> list[ReadItem]:
    """The items that fill a value of the state."""
    if isinstance(md, BytesStorageMetadata):
        index = MetadataIndex(fqn)
        return [_create_read_item_for_byteio(index, 0, index, 0, 0)]
    try:
        chunks = _create_chunk_list(obj)
    except ValueError as error:
        raise ValueError(
            f"{fqn} is a tensor in the checkpoint, and a {type(obj).__name__} in the "
            "state to load"
        ) from error
    return create_read_items_for_chunk_list(fqn, md, chunks)


def _init_state_dict(state_dict: STATE_DICT_TYPE) -> Any:
    """Replaces tensors of a nested state that are on the meta device by empty ones."""
    return _with_memory(state_dict)


def _with_memory(value: Any) -> Any:
    if isinstance(value, DTensor):
        local = value._local_tensor
        return DTensor(_with_memory(local), value._spec) if local.is_meta else value
    if isinstance(value, torch.Tensor):
        return torch.empty_like(value, device="cpu") if value.is_meta else value
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _with_memory(item)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            value[number] = _with_memory(item)
    return value

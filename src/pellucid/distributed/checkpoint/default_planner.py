"""The planners that ``save`` and ``load`` use by default, to extend.

A save stores each value once: parts of DTensors and values that several ranks have are
shared out among them. A load reads the stored parts that overlap a rank's own.
"""

from __future__ import annotations

import io
import logging
import math
from dataclasses import replace
from itertools import islice
from typing import Any

import pellucid as torch
from pellucid.distributed.checkpoint._dedup_save_plans import dedup_save_plans
from pellucid.distributed.checkpoint._nested_dict import (
    FLATTEN_MAPPING,
    flatten_state_dict,
    flatten_state_dict_v_2_3,
)
from pellucid.distributed.checkpoint._sharded_tensor_utils import (
    _flatten_sharded_tensors,
)
from pellucid.distributed.checkpoint._traverse import set_element
from pellucid.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from pellucid.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from pellucid.distributed.checkpoint.planner_helpers import (
    _compare_save_plans,
    _contains_usable_plan,
    _create_default_metadata_only_plan,
    _create_read_items,
    _create_write_items,
    _init_state_dict,
    _merge_delta_local_plans,
)
from pellucid.distributed.checkpoint.resharding import (
    _check_shard_metadata_pair_overlap,
)
from pellucid.distributed.checkpoint.utils import (
    find_state_dict_object,
    narrow_tensor_by_index,
)
from pellucid.distributed.tensor import DTensor

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]

logger = logging.getLogger(__name__)


class DefaultSavePlanner(SavePlanner):
    """Stores each value once.

    ``flatten_state_dict``: values inside dicts and lists are stored separately.
    ``dedup_save_to_lowest_rank``: what several ranks have is stored by the first of
    them; by default by the one that stores least. ``enable_plan_caching``: plans are
    sent only if they differ from those of the save before.
    """

    mappings: FLATTEN_MAPPING

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.mappings = {}
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        if dedup_replicated_tensors is not None:
            logger.warning(
                "DefaultSavePlanner's `dedup_replicated_tensors` has no effect: "
                "replicated tensors are always stored once"
            )
        self._cached_plans_key: str = type(self).__name__
        self._enable_plan_caching = enable_plan_caching
        # Cached once the save is planned: this rank's plan, and on the coordinator all
        # ranks' plans, the global plan and the metadata.
        self._proposed: SavePlan | None = None
        self._proposed_global: tuple[list[SavePlan], list[SavePlan], Metadata] | None
        self._proposed_global = None

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        if self.flatten_sharded_tensors:
            state_dict = _flatten_sharded_tensors(state_dict)
        self.state_dict = state_dict
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = replace(plan, planner_data=self.mappings)
        self.plan = plan
        if self._enable_plan_caching:
            before = SavePlanner._cached_save_plan.get(self._cached_plans_key)
            if before is not None and _compare_save_plans(plan, before):
                return SavePlan([], usable=False)
            self._proposed = plan
        return plan

    def _dedup_save_plans(self, all_plans: list[SavePlan]) -> list[SavePlan]:
        return dedup_save_plans(all_plans, self.dedup_save_to_lowest_rank)

    def _create_global_plan(
        self, all_plans: list[SavePlan]
    ) -> tuple[list[SavePlan], Metadata]:
        plans, metadata = create_default_global_save_plan(
            self._dedup_save_plans(all_plans)
        )
        if self.flatten_state_dict:
            merged: FLATTEN_MAPPING = {}
            for plan in reversed(plans):
                merged |= plan.planner_data
            metadata = replace(metadata, planner_data=merged)
        if errors := _validate_global_plan(plans, metadata):
            summary = "; ".join(errors)
            if len(summary) > 500:
                summary = summary[:500] + "... (truncated)"
            raise ValueError(f"Failed to validate global plan: {summary}")
        return plans, metadata

    def _create_global_plan_with_caching(
        self, all_plans: list[SavePlan]
    ) -> tuple[list[SavePlan], list[SavePlan], Metadata]:
        """What has changed in the plans since the save before, the plans, and the
        metadata.
        """
        key = self._cached_plans_key
        before = SavePlanner._cached_global_plan.get(key)
        if before is not None and not _contains_usable_plan(all_plans):
            unchanged = [SavePlan([], usable=False)] * len(all_plans)
            return unchanged, before, SavePlanner._cached_metadata[key]
        if before is not None:
            cached = SavePlanner._cached_all_plans[key]
            all_plans = _merge_delta_local_plans(cached, all_plans)
        plans, metadata = self._create_global_plan(all_plans)
        changed = plans
        if before is not None:
            changed = [
                SavePlan([], usable=False) if _compare_save_plans(old, new) else new
                for old, new in zip(before, plans, strict=True)
            ]
        self._proposed_global = all_plans, plans, metadata
        return changed, plans, metadata

    def create_global_plan(
        self, all_plans: list[SavePlan]
    ) -> tuple[list[SavePlan], Metadata]:
        if self._enable_plan_caching:
            made = self._create_global_plan_with_caching(all_plans)
            changed, self.global_plan, self.metadata = made
        else:
            self.global_plan, self.metadata = self._create_global_plan(all_plans)
            changed = self.global_plan
        return changed, self.metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        if self._enable_plan_caching:
            key = self._cached_plans_key
            if new_plan.usable:
                SavePlanner._cached_final_save_plan[key] = new_plan
            new_plan = SavePlanner._cached_final_save_plan[key]
            if self._proposed is not None:
                SavePlanner._cached_save_plan[key] = self._proposed
                self._proposed = None
            if self._proposed_global is not None:
                all_plans, plans, metadata = self._proposed_global
                SavePlanner._cached_all_plans[key] = all_plans
                SavePlanner._cached_global_plan[key] = plans
                SavePlanner._cached_metadata[key] = metadata
                self._proposed_global = None
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> torch.Tensor | io.BytesIO:
        found: torch.Tensor | io.BytesIO = self.transform_object(
            write_item, self.lookup_object(write_item.index)
        )
        return found

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of the state that an index names; to override."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """What is stored of a value: the tensor, or the bytes of ``torch.save``; to
        override.
        """
        if write_item.type == WriteItemType.BYTE_IO:
            data = io.BytesIO()
            torch.save(object, data)
            return data
        return object


class DefaultLoadPlanner(LoadPlanner):
    """Fills the values of a state by their names in the checkpoint.

    ``allow_partial_load``: values that the checkpoint lacks stay as they are; by
    default they are an error.
    """

    original_state_dict: STATE_DICT_TYPE
    mappings: FLATTEN_MAPPING

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.original_state_dict = {}
        self.mappings = {}
        self.allow_partial_load = allow_partial_load

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        _init_state_dict(state_dict)
        self.original_state_dict = state_dict
        if self.flatten_sharded_tensors:
            state_dict = _flatten_sharded_tensors(state_dict)
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.metadata = metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        if self.metadata is None:
            raise AssertionError("set_up_planner was given no metadata")
        missing = self.metadata.state_dict_metadata.keys() - self.state_dict.keys()
        if self.flatten_state_dict and missing:
            old_state, old_mappings = flatten_state_dict_v_2_3(self.original_state_dict)
            if old_state.keys() & missing:  # a checkpoint of PyTorch 2.3 or earlier
                self.state_dict, self.mappings = old_state, old_mappings
        return create_default_local_load_plan(
            self.state_dict, self.metadata, not self.allow_partial_load
        )

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan: LoadPlan) -> LoadPlan:
        return new_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Sets a value, which is read without running code: see ``torch.load``."""
        name, loaded = read_item.dest_index.fqn, torch.load(value)
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        tensor = self.lookup_tensor(read_item.dest_index)
        return self.transform_tensor(read_item, tensor)

    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        """Does nothing: the tensor is the state's."""

    def lookup_tensor(self, index: MetadataIndex) -> torch.Tensor:
        """The tensor of the state that an index names; to override."""
        found: torch.Tensor = find_state_dict_object(self.state_dict, index)
        return found

    def transform_tensor(
        self, read_item: ReadItem, tensor: torch.Tensor
    ) -> torch.Tensor:
        """The box of the tensor that an item fills; to override."""
        offsets, sizes = read_item.dest_offsets, read_item.lengths
        return narrow_tensor_by_index(tensor, offsets, sizes)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads the checkpoint into an empty dict, or only the values named by ``keys`` and
    the dicts around them.
    """

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def _should_include_key(self, key: str, metadata: Metadata) -> bool:
        if self.keys is None or key in self.keys:
            return True
        parts = [str(part) for part in (metadata.planner_data or {}).get(key, ())]
        around = {".".join(parts[: k + 1]) for k in range(len(parts))}
        return not around.isdisjoint(self.keys)

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if state_dict:
            raise AssertionError("the state to load everything into must be empty")
        if metadata is None:
            raise AssertionError("set_up_planner was given no metadata")
        paths = metadata.planner_data or {}
        for name, described in metadata.state_dict_metadata.items():
            if not self._should_include_key(name, metadata):
                continue
            value: Any = described
            if isinstance(described, TensorStorageMetadata):
                value = torch.empty(described.size, dtype=described.properties.dtype)
            set_element(state_dict, paths.get(name, (name,)), value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def _is_here(value: Any) -> bool:
    """Whether this process is in a DTensor's mesh."""
    is_outside = isinstance(value, DTensor) and (
        value.device_mesh.get_coordinate() is None
    )
    return not is_outside


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """What fills a flat state; unless ``strict``, values may be missing."""
    items: list[ReadItem] = []
    for fqn, value in state_dict.items():
        described = metadata.state_dict_metadata.get(fqn)
        if described is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {fqn}.")
            continue
        if (
            isinstance(described, TensorStorageMetadata)
            and isinstance(value, torch.Tensor)
            and tuple(described.size) != tuple(value.shape)
        ):
            raise ValueError(
                f"Size mismatch between saved {described.size} and current: "
                f"{value.size()} for {fqn}"
            )
        if _is_here(value):
            items += _create_read_items(fqn, described, value)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans as they are: ranks load what they need."""
    return all_plans


def create_default_local_save_plan(
    state_dict: dict[str, Any], is_coordinator: bool
) -> SavePlan:
    """All values of a flat state that this rank has."""
    items: list[WriteItem] = []
    for fqn, value in state_dict.items():
        if _is_here(value):
            items += _create_write_items(fqn, value)
    return SavePlan(items)


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The metadata of plans without duplicates, and the plans, whose indices get the
    places of parts as hints.
    """
    described: dict[str, Any] = {}
    new_plans = []
    for plan in all_plans:
        new_items = []
        for item in plan.items:
            name, data = item.index.fqn, item.tensor_data
            if item.type != WriteItemType.SHARD and name in described:
                raise AssertionError(f"{name} is stored twice")
            if item.type == WriteItemType.BYTE_IO:
                described[name] = BytesStorageMetadata()
            else:
                if data is None:
                    raise AssertionError(f"the item for {name} has no tensor_data")
                tensor = described.setdefault(
                    name, TensorStorageMetadata(data.properties, data.size, [])
                )
                if rewrite_index_hints:
                    index = replace(item.index, index=len(tensor.chunks))
                    item = replace(item, index=index)
                tensor.chunks.append(data.chunk)
            new_items.append(item)
        new_plans.append(replace(plan, items=new_items))
    return new_plans, Metadata(described)


def _create_default_local_metadata(state_dict: STATE_DICT_TYPE) -> Metadata:
    """The metadata of a flat state that this process saves alone."""
    plan = _create_default_metadata_only_plan(state_dict)
    return create_default_global_save_plan([plan])[1]


def _check_box_bounds(size: torch.Size, box: ChunkStorageMetadata) -> bool:
    return all(
        first >= 0 and length >= 0 and first + length <= whole
        for whole, first, length in zip(size, box.offsets, box.sizes, strict=True)
    )


def _overlapping(
    tensor: TensorStorageMetadata,
) -> list[tuple[ChunkStorageMetadata, ChunkStorageMetadata]]:
    """Pairs of parts that overlap, by a sweep along the longest dim."""
    dim = max(range(len(tensor.size)), key=tensor.size.__getitem__)
    ordered = sorted(tensor.chunks, key=lambda chunk: chunk.offsets[dim])
    found = []
    for number, chunk in enumerate(ordered):
        end = chunk.offsets[dim] + chunk.sizes[dim]
        for other in islice(ordered, number + 1, None):
            if other.offsets[dim] >= end:
                break
            if _check_shard_metadata_pair_overlap(chunk, other):
                found.append((other, chunk))
    return found


def _validate_global_plan(global_plan: list[SavePlan], metadata: Metadata) -> list[str]:
    """What is wrong with the parts of tensors."""
    errors = []
    for key, value in metadata.state_dict_metadata.items():
        if isinstance(value, BytesStorageMetadata) or not len(value.size):
            continue
        errors += [
            f"key:{key} has out of bounds chunk: tensor-size:{value.size} "
            f"chunk: {chunk}"
            for chunk in value.chunks
            if not _check_box_bounds(value.size, chunk)
        ]
        errors += [
            f"key:{key} has overlapping chunks: {chunk} {other}"
            for chunk, other in _overlapping(value)
        ]
        whole = math.prod(value.size)
        stored = sum(math.prod(chunk.sizes) for chunk in value.chunks)
        if len(global_plan) > 1 and stored != whole:
            errors.append(
                f"key:{key} invalid fill tensor-volume: {whole} chunks-volume: {stored}"
            )
    for error in errors:
        logger.warning(error)
    return errors

"""Sharding specs, and the one that lists the parts."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.distributed._shard.metadata import ShardMetadata
from pellucid.distributed._shard.sharded_tensor.metadata import (
    ShardedTensorMetadata,
    TensorProperties,
)
from pellucid.distributed.remote_device import _remote_device


class PlacementSpec(ABC):  # noqa: B024 - as PyTorch has it
    """Where an entity is."""


@dataclass
class DevicePlacementSpec(PlacementSpec):
    """On one device."""

    device: _remote_device

    def __post_init__(self) -> None:
        if not isinstance(self.device, _remote_device):
            self.device = _remote_device(self.device)


class ShardingSpec(ABC):
    """How a tensor is cut."""

    @abstractmethod
    def build_metadata(
        self, tensor_sizes: Any, tensor_properties: TensorProperties
    ) -> ShardedTensorMetadata:
        """Where the parts of a tensor are."""

    @abstractmethod
    def shard(self, tensor: Any, src_rank: int = 0, process_group: Any = None) -> Any:
        """Cuts the tensor of rank ``src_rank``: a ShardedTensor."""


def _overlap(first: ShardMetadata, second: ShardMetadata) -> bool:
    return all(
        a < b + length and b < a + size
        for a, size, b, length in zip(
            *(first.shard_offsets, first.shard_sizes),
            *(second.shard_offsets, second.shard_sizes),
            strict=True,
        )
    )


def validate_non_overlapping_shards_metadata(shards: Sequence[ShardMetadata]) -> None:
    """Requires parts without common elements."""
    for first, second in itertools.combinations(shards, 2):
        if _overlap(first, second):
            raise ValueError(f"the parts {first} and {second} overlap")


def check_tensor(shards: Sequence[ShardMetadata], sizes: Sequence[int]) -> None:
    """Requires parts that make up a tensor of the sizes; they do not overlap."""
    if len(shards[0].shard_offsets) != len(sizes):
        raise ValueError(
            f"the tensor has {len(sizes)} dims, its parts "
            f"{len(shards[0].shard_offsets)}"
        )
    for shard in shards:
        ends = map(sum, zip(shard.shard_offsets, shard.shard_sizes, strict=True))
        if any(end > size for end, size in zip(ends, sizes, strict=True)):
            raise ValueError(f"{shard} is outside a tensor of the sizes {list(sizes)}")
    total = sum(math.prod(shard.shard_sizes) for shard in shards)
    if total != math.prod(sizes):
        raise ValueError(
            f"the parts have {total} of the {math.prod(sizes)} elements of a tensor of "
            f"the sizes {list(sizes)}"
        )


@dataclass
class EnumerableShardingSpec(ShardingSpec):
    """Parts as they are listed."""

    shards: list[ShardMetadata]

    def __post_init__(self) -> None:
        if not self.shards:
            raise ValueError("a sharding needs parts, and there are none")
        ranks = {len(shard.shard_offsets) for shard in self.shards}
        if len(ranks) > 1:
            raise ValueError(
                f"the parts differ in their numbers of dims: {sorted(ranks)}"
            )
        validate_non_overlapping_shards_metadata(self.shards)

    def build_metadata(
        self, tensor_sizes: Any, tensor_properties: TensorProperties
    ) -> ShardedTensorMetadata:
        check_tensor(self.shards, tensor_sizes)
        return ShardedTensorMetadata(self.shards, tensor_sizes, tensor_properties)

    def shard(self, tensor: Any, src_rank: int = 0, process_group: Any = None) -> Any:
        raise NotImplementedError(
            "EnumerableShardingSpec.shard is not implemented, as in PyTorch: give each "
            "rank its parts, and call init_from_local_shards"
        )

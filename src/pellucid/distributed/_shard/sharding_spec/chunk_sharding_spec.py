"""``ChunkShardingSpec``: parts along one dim, of the sizes of ``torch.chunk``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed._shard._utils import narrow_tensor
from pellucid.distributed._shard.metadata import ShardMetadata
from pellucid.distributed._shard.sharded_tensor.api import ShardedTensor, rank_of
from pellucid.distributed._shard.sharded_tensor.metadata import (
    ShardedTensorMetadata,
    TensorProperties,
)
from pellucid.distributed._shard.sharded_tensor.shard import Shard
from pellucid.distributed._shard.sharding_spec.api import (
    EnumerableShardingSpec,
    ShardingSpec,
)
from pellucid.distributed.remote_device import _remote_device
from pellucid.distributed.tensor.placement_types import Shard as _Chunks


@dataclass
class ChunkShardingSpec(ShardingSpec):
    """A part for each placement, along ``dim``."""

    dim: int
    placements: list[Any]

    def __post_init__(self) -> None:
        if isinstance(self.dim, str):
            raise NotImplementedError(
                f"a dim is cut by its number, not by a name: {self.dim!r}"
            )
        if not isinstance(self.dim, int):
            raise ValueError(f"dim is an integer, not {self.dim!r}")
        self.placements = [
            place if isinstance(place, _remote_device) else _remote_device(place)
            for place in self.placements
        ]

    def build_metadata(
        self, tensor_sizes: Any, tensor_properties: TensorProperties
    ) -> ShardedTensorMetadata:
        rank = len(tensor_sizes)
        if not -rank <= self.dim < rank:
            raise ValueError(f"the tensor has {rank} dims, and no dim {self.dim}")
        dim, parts = self.dim % rank, []
        for number, placement in enumerate(self.placements):
            size, first = _Chunks.local_shard_size_and_offset(
                tensor_sizes[dim], len(self.placements), number
            )
            offsets, sizes = [0] * rank, list(tensor_sizes)
            offsets[dim], sizes[dim] = first, size
            parts.append(ShardMetadata(offsets, sizes, placement))
        return ShardedTensorMetadata(parts, torch.Size(tensor_sizes), tensor_properties)

    def shard(
        self, tensor: Any, src_rank: int = 0, process_group: Any = None
    ) -> ShardedTensor:
        properties = TensorProperties.create_from_tensor(tensor)
        metadata = self.build_metadata(tensor.size(), properties)
        group = process_group
        rank, source = dist.get_rank(group), src_rank
        if group is not None:
            source = dist.get_global_rank(group, src_rank)
        parts, own = [], None
        longest = metadata.shards_metadata[0].shard_sizes
        for each in sorted(metadata.shards_metadata, key=rank_of):
            padded = torch.zeros(longest, dtype=tensor.dtype)
            if rank == src_rank:
                place = ShardMetadata([0] * len(longest), each.shard_sizes)
                values = narrow_tensor(tensor.detach(), each)
                narrow_tensor(padded, place).copy_(values)
            parts.append(padded)
            own = each if rank_of(each) == dist.get_rank() else own
        if own is None or len(parts) != dist.get_world_size(group):
            raise ValueError(
                f"each rank of the group needs one of the placements {self.placements}"
            )
        received = torch.empty(longest, dtype=tensor.dtype)
        given = parts if rank == src_rank else None
        dist.scatter(received, given, src=source, group=group)
        place = ShardMetadata([0] * len(longest), own.shard_sizes)
        local = narrow_tensor(received, place).contiguous().detach()
        local.requires_grad_(tensor.requires_grad)
        return ShardedTensor._init_from_local_shards_and_global_metadata(
            [Shard(local, own)], metadata, group, sharding_spec=self
        )


def _infer_sharding_spec_from_shards_metadata(
    shards_metadata: Sequence[ShardMetadata],
) -> ShardingSpec:
    """The chunks along a dim that the parts are, else the parts."""
    listed = list(shards_metadata)
    sizes = [
        max(a + b for a, b in zip(offsets, lengths, strict=True))
        for offsets, lengths in zip(
            zip(*(m.shard_offsets for m in listed), strict=True),
            zip(*(m.shard_sizes for m in listed), strict=True),
            strict=True,
        )
    ]
    ordered = sorted(listed, key=lambda each: each.shard_offsets)
    for dim in range(len(sizes)):
        spec = ChunkShardingSpec(dim, [each.placement for each in ordered])
        chunks = spec.build_metadata(sizes, TensorProperties()).shards_metadata
        if chunks == ordered and len(chunks) > 1:
            return spec
    return EnumerableShardingSpec(listed)

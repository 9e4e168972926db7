"""Parts of tensors by their metadata."""

from __future__ import annotations

from collections.abc import Sequence

import pellucid as torch
from pellucid.distributed._shard.metadata import ShardMetadata


def narrow_tensor_by_index(
    tensor: torch.Tensor, offsets: Sequence[int], sizes: Sequence[int]
) -> torch.Tensor:
    """The view of a box of a tensor."""
    for dim, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        tensor = tensor.narrow(dim, offset, size)
    return tensor


def narrow_tensor(tensor: torch.Tensor, metadata: ShardMetadata) -> torch.Tensor:
    """The view of a part of a tensor."""
    return narrow_tensor_by_index(tensor, metadata.shard_offsets, metadata.shard_sizes)

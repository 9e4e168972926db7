"""``Shard``: a part of a tensor with its values."""

from __future__ import annotations

from dataclasses import dataclass

import pellucid as torch
from pellucid.distributed._shard.metadata import ShardMetadata


@dataclass
class Shard:
    """The values of a part that this process has, and where the part is."""

    __slots__ = ("metadata", "tensor")

    tensor: torch.Tensor
    metadata: ShardMetadata

    def __post_init__(self) -> None:
        sizes, placement = list(self.tensor.shape), self.metadata.placement
        if sizes != list(self.metadata.shard_sizes):
            raise ValueError(
                f"a part of the sizes {self.metadata.shard_sizes} was given a tensor "
                f"of the sizes {sizes}"
            )
        if placement is not None and placement.device() != self.tensor.device:
            raise ValueError(
                f"a part placed on {placement.device()} was given a tensor on "
                f"{self.tensor.device}"
            )

    @classmethod
    def from_tensor_and_offsets(
        cls, tensor: torch.Tensor, shard_offsets: list[int], rank: int
    ) -> Shard:
        """The part that begins at the offsets, on the rank that calls."""
        placement = f"rank:{rank}/{tensor.device}"
        sizes = list(tensor.shape)
        return cls(tensor, ShardMetadata(shard_offsets, sizes, placement))

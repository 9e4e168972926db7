"""``ShardedTensorMetadata``: a tensor and where its parts are."""

from __future__ import annotations

from dataclasses import dataclass, field

import pellucid as torch
from pellucid.distributed._shard.metadata import ShardMetadata
from pellucid.distributed.checkpoint.metadata import (
    TensorProperties as TensorProperties,
)


@dataclass
class ShardedTensorMetadata:
    """The parts, the sizes of the whole, and its properties."""

    shards_metadata: list[ShardMetadata] = field(default_factory=list)
    size: torch.Size = field(default=torch.Size([]))
    tensor_properties: TensorProperties = field(default_factory=TensorProperties)

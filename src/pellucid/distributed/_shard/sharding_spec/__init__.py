"""``torch.distributed._shard.sharding_spec``: how tensors are cut.

Read next: ``api.py``, ``chunk_sharding_spec.py``.
"""

from pellucid.distributed._shard.metadata import ShardMetadata as ShardMetadata
from pellucid.distributed._shard.sharding_spec.api import (
    DevicePlacementSpec as DevicePlacementSpec,
)
from pellucid.distributed._shard.sharding_spec.api import (
    EnumerableShardingSpec as EnumerableShardingSpec,
)
from pellucid.distributed._shard.sharding_spec.api import (
    PlacementSpec as PlacementSpec,
)
from pellucid.distributed._shard.sharding_spec.api import ShardingSpec as ShardingSpec
from pellucid.distributed._shard.sharding_spec.chunk_sharding_spec import (
    ChunkShardingSpec as ChunkShardingSpec,
)
from pellucid.distributed._shard.sharding_spec.chunk_sharding_spec import (
    _infer_sharding_spec_from_shards_metadata as _infer_sharding_spec_from_shards_metadata,  # noqa: E501
)

"""``torch.distributed._shard.sharding_plan``: how a module is sharded, by names."""

from pellucid.distributed._shard.sharding_plan.api import (
    ShardingPlan as ShardingPlan,
)
from pellucid.distributed._shard.sharding_plan.api import (
    ShardingPlanner as ShardingPlanner,
)

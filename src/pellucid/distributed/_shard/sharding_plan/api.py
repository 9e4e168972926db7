"""``ShardingPlan``, which ``shard_module`` carries out."""

from __future__ import annotations

import abc
from dataclasses import dataclass

from pellucid import nn
from pellucid.distributed._shard.sharder import Sharder
from pellucid.distributed._shard.sharding_spec import ShardingSpec


@dataclass
class ShardingPlan:
    """The specs of a module's parameters and the sharders of its submodules, by name;
    the specs of submodules' outputs; and the submodules whose outputs are this
    process's part. The name "" is the module itself.

    Example::

        plan = ShardingPlan(
            {"up.weight": ChunkShardingSpec(0, ["rank:0/cpu", "rank:1/cpu"])},
            return_local_tensor=["down"],
        )
        shard_module(model, plan)
    """

    plan: dict[str, ShardingSpec | Sharder]
    output_plan: dict[str, ShardingSpec] | None = None
    return_local_tensor: list[str] | None = None


class ShardingPlanner(abc.ABC):
    """Makes the plan of a module."""

    @abc.abstractmethod
    def build_plan(self, module: nn.Module) -> ShardingPlan:
        """The plan of ``module``."""

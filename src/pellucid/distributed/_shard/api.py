"""Shards a tensor, a parameter, or a module by a plan; all ranks of the group call."""

from __future__ import annotations

from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn
from pellucid.distributed._shard.sharded_tensor import ShardedTensor
from pellucid.distributed._shard.sharded_tensor.api import (
    _get_current_process_group as _get_current_process_group,
)
from pellucid.distributed._shard.sharded_tensor.api import (
    load_with_process_group as load_with_process_group,
)
from pellucid.distributed._shard.sharder import Sharder
from pellucid.distributed._shard.sharding_plan import ShardingPlan
from pellucid.distributed._shard.sharding_spec import ChunkShardingSpec, ShardingSpec


def _shard_tensor(
    tensor: torch.Tensor,
    sharding_spec: ShardingSpec,
    src_rank: int = 0,
    process_group: Any = None,
) -> ShardedTensor:
    """The tensor of rank ``src_rank``, cut."""
    size = dist.get_world_size(process_group)
    given: list[Any] = [None] * size
    own = src_rank, sharding_spec
    dist.all_gather_object(given, (own, tensor.is_contiguous()), group=process_group)
    for rank, (other, is_contiguous) in enumerate(given):
        if other != own:
            raise ValueError(
                f"ranks cut by different calls: rank {dist.get_rank(process_group)} "
                f"has src_rank={src_rank} and {sharding_spec}, rank {rank} has "
                f"src_rank={other[0]} and {other[1]}"
            )
        if not is_contiguous:
            raise ValueError(
                "only contiguous tensors are cut, and that of rank "
                f"{rank} is not: call contiguous()"
            )
    made: ShardedTensor = sharding_spec.shard(tensor, src_rank, process_group)
    return made


def shard_parameter(
    module: nn.Module,
    param_name: str,
    sharding_spec: ShardingSpec,
    src_rank: int = 0,
    process_group: Any = None,
) -> None:
    """Makes a parameter a ShardedTensor of the values on rank ``src_rank``."""
    kind = type(module).__name__
    if not hasattr(module, param_name):
        raise AttributeError(f"{kind} has no parameter {param_name!r}")
    parameter = getattr(module, param_name)
    if not isinstance(parameter, torch.Tensor):
        raise ValueError(
            f"{param_name} of {kind} is a {type(parameter).__name__}, not a tensor"
        )
    made = _shard_tensor(parameter.data, sharding_spec, src_rank, process_group)
    module.register_parameter(param_name, nn.Parameter(made))


def shard_module(
    module: nn.Module, plan: ShardingPlan, src_rank: int = 0, process_group: Any = None
) -> None:
    """Shards a module's parameters and submodules as a plan says, and makes submodules
    return their outputs as it says.
    """
    _check_plan(plan)
    for name, how in plan.plan.items():
        path, _, own_name = name.rpartition(".")
        owner = module.get_submodule(path)
        if isinstance(how, Sharder):
            setattr(owner, own_name, how.shard(module.get_submodule(name)))
        else:
            shard_parameter(owner, own_name, how, src_rank, process_group)
    for name, spec in (plan.output_plan or {}).items():
        _reshard_output(module.get_submodule(name), spec)
    for name in plan.return_local_tensor or ():
        _collect_local_shard(module.get_submodule(name))


def _check_plan(plan: ShardingPlan) -> None:
    replaced = [name for name, how in plan.plan.items() if isinstance(how, Sharder)]
    for name, how in plan.plan.items():
        if not isinstance(how, (ShardingSpec, Sharder)):
            raise TypeError(
                f"the plan shards {name!r} by a {type(how).__name__}: give a "
                "ShardingSpec or a Sharder"
            )
        if isinstance(how, Sharder) and name == "":
            raise KeyError("a Sharder replaces a submodule: its name must not be empty")
        for path in replaced:
            if path != name and name.startswith(f"{path}."):
                raise RuntimeError(
                    f"the plan shards {name!r}, which is part of {path!r}, and that is "
                    "replaced by a Sharder"
                )
    for name, spec in (plan.output_plan or {}).items():
        if not isinstance(spec, ShardingSpec):
            raise TypeError(
                f"the output of {name!r} is placed by a {type(spec).__name__}: give a "
                "ShardingSpec"
            )


def _reshard_output(module: nn.Module, resharding_spec: ShardingSpec) -> nn.Module:
    """Makes the module return its outputs cut by a spec."""

    def cut(module: nn.Module, inputs: Any, output: Any) -> Any:
        is_sharded = isinstance(output, ShardedTensor)
        return output.reshard(resharding_spec) if is_sharded else output

    module.register_forward_hook(cut)
    return module


def _collect_local_shard(module: nn.Module) -> nn.Module:
    """Makes the module return this process's part of its outputs. Along the dim of a
    ChunkShardingSpec, one row is returned without that dim.
    """

    def take(module: nn.Module, inputs: Any, output: Any) -> Any:
        if not isinstance(output, ShardedTensor):
            return output
        local, spec = output.local_tensor(), output.sharding_spec()
        has_one = isinstance(spec, ChunkShardingSpec) and local.size(spec.dim) == 1
        return local.squeeze(spec.dim) if has_one else local

    module.register_forward_hook(take)
    return module

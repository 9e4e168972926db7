"""``shard_parameter``: a module's parameter as a ShardedTensor."""

from __future__ import annotations

from typing import Any

from pellucid import nn


def shard_parameter(
    module: nn.Module,
    param_name: str,
    sharding_spec: Any,
    src_rank: int = 0,
    process_group: Any = None,
) -> None:
    """Cuts the parameter of rank ``src_rank``; all ranks call it."""
    parameter = getattr(module, param_name, None)
    if parameter is None:
        raise AttributeError(f"{type(module).__name__} has no parameter {param_name!r}")
    if not parameter.is_contiguous():
        raise ValueError(f"the parameter {param_name} is not contiguous")
    made = sharding_spec.shard(parameter.data, src_rank, process_group)
    module.register_parameter(param_name, nn.Parameter(made))

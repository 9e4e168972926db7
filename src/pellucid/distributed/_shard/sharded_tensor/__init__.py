"""``torch.distributed._shard.sharded_tensor``: makes ShardedTensors.

All ranks of a group call these functions. Read next: ``api.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed._shard.metadata import ShardMetadata as ShardMetadata
from pellucid.distributed._shard.sharded_tensor.api import (
    ShardedTensor as ShardedTensor,
)
from pellucid.distributed._shard.sharded_tensor.api import (
    ShardedTensorBase as ShardedTensorBase,
)
from pellucid.distributed._shard.sharded_tensor.api import _custom_ops, flatten_size
from pellucid.distributed._shard.sharded_tensor.metadata import (
    ShardedTensorMetadata as ShardedTensorMetadata,
)
from pellucid.distributed._shard.sharded_tensor.metadata import (
    TensorProperties as TensorProperties,
)
from pellucid.distributed._shard.sharded_tensor.shard import Shard as Shard

_F = TypeVar("_F", bound=Callable[..., Any])


def empty(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """A tensor without values."""
    return ShardedTensor(sharding_spec, *size, **_properties(options))


def full(
    sharding_spec: Any, size: Any, fill_value: Any, **options: Any
) -> ShardedTensor:
    """A tensor of one value."""
    return _filled(sharding_spec, size, options, lambda x: x.fill_(fill_value))


def zeros(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """A tensor of zeros."""
    return full(sharding_spec, size, 0, **options)


def ones(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """A tensor of ones."""
    return full(sharding_spec, size, 1, **options)


def rand(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """A tensor of uniform random numbers, each process's from its own generator."""
    return _filled(sharding_spec, size, options, lambda x: x.uniform_())


def randn(sharding_spec: Any, *size: Any, **options: Any) -> ShardedTensor:
    """The same of normal random numbers."""
    return _filled(sharding_spec, size, options, lambda x: x.normal_())


def _properties(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are given: None means PyTorch's default."""
    return {name: value for name, value in options.items() if value is not None}


def _filled(
    spec: Any, size: Any, options: dict[str, Any], fill: Callable[[Any], Any]
) -> ShardedTensor:
    made = ShardedTensor(spec, flatten_size(size), **_properties(options))
    with torch.no_grad():
        for shard in made.local_shards():
            fill(shard.tensor)
    return made


def init_from_local_shards(
    local_shards: list[Shard],
    *global_size: Any,
    process_group: Any = None,
    init_rrefs: bool = False,
) -> ShardedTensor:
    """A tensor of the parts that each rank gives; ranks exchange where they are."""
    from pellucid.distributed._shard.sharding_spec import (
        EnumerableShardingSpec,
        _infer_sharding_spec_from_shards_metadata,
    )

    size = flatten_size(global_size)
    own = [
        (shard.metadata, TensorProperties.create_from_tensor(shard.tensor))
        for shard in local_shards
    ]
    gathered: list[Any] = [None] * dist.get_world_size(process_group)
    dist.all_gather_object(gathered, own, group=process_group)
    pairs = [pair for each in gathered for pair in each]
    if len({properties.dtype for _, properties in pairs}) != 1:
        raise ValueError(
            "the shards need one dtype; they have "
            f"{[properties.dtype for _, properties in pairs]}"
        )
    parts = [metadata for metadata, _ in pairs]
    metadata = EnumerableShardingSpec(parts).build_metadata(size, pairs[0][1])
    return ShardedTensor._init_from_local_shards_and_global_metadata(
        *(local_shards, metadata, process_group),
        sharding_spec=_infer_sharding_spec_from_shards_metadata(parts),
    )


def custom_sharded_op_impl(func: Any) -> Callable[[_F], _F]:
    """Registers ``implementation(types, args, kwargs, process_group)`` for calls of a
    torch function on ShardedTensors.
    """

    def register(implementation: _F) -> _F:
        _custom_ops[func] = implementation
        return implementation

    return register


def state_dict_hook(
    module: Any, destination: dict[str, Any], prefix: str, local_metadata: Any
) -> None:
    """A hook of ``state_dict``: adds the ShardedTensors that modules have as
    attributes.
    """
    for name, owner in module.named_modules():
        start = f"{prefix}{name}." if name else prefix
        for attribute, value in vars(owner).items():
            if isinstance(value, ShardedTensor):
                destination[start + attribute] = value


def pre_load_state_dict_hook(
    module: Any,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: Any,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """A hook of ``load_state_dict``: sets these attributes."""
    for name, owner in module.named_modules():
        start = f"{prefix}{name}." if name else prefix
        for attribute, value in list(vars(owner).items()):
            key = start + attribute
            if not isinstance(value, ShardedTensor):
                continue
            if key in state_dict:
                setattr(owner, attribute, state_dict[key])
            elif strict:
                missing_keys.append(key)

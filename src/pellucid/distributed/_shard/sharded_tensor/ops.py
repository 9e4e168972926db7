"""What ShardedTensors do without a registered implementation: each process does it to
its parts.

``api.py`` looks a call up here if the program has registered no implementation of it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pellucid as torch
from pellucid import nn
from pellucid.overrides import DisableTorchFunctionSubclass


def _remade(x: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A tensor cut as ``x``, of changed parts."""
    shards = [replace(shard, tensor=change(shard.tensor)) for shard in x.local_shards()]
    metadata = copy.deepcopy(x.metadata())
    if shards:
        properties = metadata.tensor_properties
        properties.dtype = shards[0].tensor.dtype
        properties.requires_grad = shards[0].tensor.requires_grad
    return type(x)._init_from_local_shards_and_global_metadata(
        *(shards, metadata, x._process_group), sharding_spec=x.sharding_spec()
    )


def _clone(x: Any, memory_format: Any = torch.preserve_format) -> Any:
    return _remade(x, lambda part: part.clone(memory_format=memory_format))


def _detach(x: Any, *_: Any) -> Any:
    return _remade(x, torch.Tensor.detach)


def copied(x: Any, change: Callable[[Any], Any]) -> Any:
    """The same, a parameter if it is one."""
    made = _remade(x, change)
    if "_is_param" in x.__dict__:
        made.__dict__["_is_param"] = True
    return made


def _deepcopy(x: Any, memo: dict[int, Any]) -> Any:
    made = copied(x, lambda part: copy.deepcopy(part, memo))
    memo[id(x)] = made
    return made


def _copy_(x: Any, other: Any, non_blocking: bool = False) -> Any:
    parts: list[Any] = [x.local_shards(), getattr(other, "local_shards", list)()]
    if [each.metadata for each in parts[0]] != [each.metadata for each in parts[1]]:
        raise RuntimeError(
            "copy_ to a ShardedTensor needs one that is cut in the same way: reshard()"
        )
    for own, given in zip(*parts, strict=True):
        own.tensor.copy_(given.tensor, non_blocking)
    return x


def _requires_grad_(x: Any, requires_grad: bool = True) -> Any:
    for shard in x.local_shards():
        shard.tensor.requires_grad_(requires_grad)
    with DisableTorchFunctionSubclass():
        torch.Tensor.requires_grad_(x, requires_grad)
    x.metadata().tensor_properties.requires_grad = requires_grad
    return x


def _filling(fill: Callable[..., Any]) -> Callable[..., Any]:
    def fill_parts(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        for shard in tensor.local_shards():
            fill(shard.tensor, *args, **kwargs)
        return tensor

    return fill_parts


OPS: dict[Any, Callable[..., Any]] = {
    torch.clone: _clone,
    torch.Tensor.clone: _clone,
    torch.detach: _detach,
    torch.Tensor.detach: _detach,
    torch.Tensor.data.__get__: _detach,  # type: ignore[attr-defined]
    torch.Tensor.__deepcopy__: _deepcopy,
    torch.Tensor.copy_: _copy_,
    torch.Tensor.requires_grad_: _requires_grad_,
    **{
        fill: _filling(fill)
        for fill in (
            *(nn.init.uniform_, nn.init.normal_),
            *(nn.init.constant_, nn.init.kaiming_uniform_),
        )
    },
}
"""By function."""

"""``torch.distributed.utils``: what wrappers and libraries do with a module's state."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import pellucid as torch
import pellucid.distributed as dist

__all__: list[str] = []

BROADCAST_BYTES = 250 * 1024 * 1024  # of one broadcast, as in PyTorch


def _sync_module_states(
    module: Any,
    process_group: Any,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Container[str],
    broadcast_buffers: bool = True,
) -> None:
    """Copies the parameters and buffers of rank ``src`` of a group to the others."""
    named = list(module.named_parameters())
    named += module.named_buffers() if broadcast_buffers else []
    tensors = [x for name, x in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, tensors, broadcast_bucket_size, src)


def _sync_params_and_buffers(
    process_group: Any,
    module_states: Sequence[Any],
    broadcast_bucket_size: int,
    src: int,
) -> None:
    """Copies tensors of rank ``src`` of a group to the others, several in a broadcast
    of at most ``broadcast_bucket_size`` bytes.
    """
    buckets: list[list[Any]] = []
    latest: dict[Any, tuple[list[Any], int]] = {}  # with its size in bytes
    for tensor in module_states:
        kind = tensor.device, tensor.dtype
        bucket, size = latest.get(kind, ([], broadcast_bucket_size))
        if size + tensor.nbytes > broadcast_bucket_size:
            bucket, size = [], 0
            buckets.append(bucket)
        bucket.append(tensor.detach())
        latest[kind] = bucket, size + tensor.nbytes
    for bucket in buckets:
        flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
        dist.broadcast(flat, group=process_group, group_src=src)
        if src != process_group.rank():
            parts = flat.split([tensor.numel() for tensor in bucket])
            for tensor, part in zip(bucket, parts, strict=True):
                tensor.copy_(part.view(tensor.shape))


def _replace_by_prefix(
    state_dict: dict[str, Any], old_prefix: str, new_prefix: str
) -> None:
    """Renames, in place, the keys that begin with a prefix."""
    if old_prefix == new_prefix:
        raise ValueError(f"the prefixes are equal: {old_prefix!r}")
    for key in list(state_dict):
        if key.startswith(old_prefix):
            name = new_prefix + key.removeprefix(old_prefix)
            state_dict[name] = state_dict.pop(key)

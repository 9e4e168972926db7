"""Batch normalization over the batches of all ranks of a group (nn.SyncBatchNorm)."""

from __future__ import annotations

from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.nn.functional import all_gather


def synchronized(process_group: Any) -> bool:
    """Whether there is a group of several ranks to normalize over."""
    return dist.is_initialized() and dist.get_world_size(process_group) > 1


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    momentum: float,
    eps: float,
    process_group: Any,
) -> Any:
    """``input`` (N, C, ...) normalized by mean and variance over all ranks' inputs,
    whose batches may differ in size. One all_gather of 2 C + 1 numbers, and one
    backward.
    """
    channels = input.shape[1]
    shape = (1, channels, *[1] * (input.dim() - 2))
    dims = [dim for dim in range(input.dim()) if dim != 1]
    count = input.numel() // channels
    x = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
    mean = x.sum(dims) / max(count, 1)
    squares = (x - mean.view(shape)).square().sum(dims)
    own = torch.cat([mean, squares, mean.new_full((1,), count)])
    parts = torch.stack(list(all_gather(own, process_group)))
    means, counts = parts[:, :channels], parts[:, -1:]
    whole = float(counts.sum())
    if whole <= 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got {whole:.0f} "
            "in all of the group's batches"
        )
    mean = (means * counts).sum(0) / whole
    between = counts * (means - mean).square()
    var = (parts[:, channels : 2 * channels] + between).sum(0) / whole
    with torch.no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            unbiased = var * (whole / (whole - 1))
            running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    scale = (var + eps).rsqrt()
    result = (x - mean.view(shape)) * scale.view(shape)
    if weight is not None:
        result = result * weight.view(shape)
    if bias is not None:
        result = result + bias.view(shape)
    return result.to(input.dtype)

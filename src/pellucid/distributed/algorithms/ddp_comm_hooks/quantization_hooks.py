"""Hooks that send gradients as 8-bit integers, with a scale of each rank."""

from __future__ import annotations

from typing import Any

import pellucid as torch
import pellucid.distributed as dist

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]


def quantization_pertensor_hook(process_group: Any, bucket: Any) -> Any:
    """Averages gradients that each rank has rounded to 256 values between its least
    and its largest one.
    """
    return _averaged(bucket.buffer().view(1, -1), process_group, bucket)


def quantization_perchannel_hook(
    process_group: Any, bucket: Any, bucket_size: int = 512
) -> Any:
    """The same with a range for each ``bucket_size`` gradients."""
    flat = bucket.buffer()
    padding = -flat.numel() % bucket_size
    rows = torch.nn.functional.pad(flat, (0, padding)).view(-1, bucket_size)
    return _averaged(rows, process_group, bucket)


def _averaged(rows: torch.Tensor, group: Any, bucket: Any) -> Any:
    """A Future of the mean over ranks of rows that each have a range."""
    group = group or dist.group.WORLD
    size = dist.get_world_size(group)
    low = rows.amin(1, keepdim=True).clamp(max=0)
    scale = ((rows.amax(1, keepdim=True).clamp(min=0) - low) / 255).clamp(min=1e-30)
    ranges = torch.cat([scale, low], 1)
    bytes_ = ((rows - low) / scale).round().clamp(0, 255).to(torch.uint8)
    every_range = ranges.new_empty((size, *ranges.shape))
    every_byte = bytes_.new_empty((size, *bytes_.shape))
    dist.all_gather_into_tensor(every_range, ranges, group)
    work = dist.all_gather_into_tensor(every_byte, bytes_, group, async_op=True)
    assert work is not None
    buffer = bucket.buffer()

    def mean(_: Any) -> Any:
        scales, lows = every_range.split(1, 2)
        values = (every_byte * scales + lows).mean(0).view(-1)
        return buffer.copy_(values[: buffer.numel()])

    return work.get_future().then(mean)

"""all_reduce as a hook, and in a smaller dtype."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import pellucid as torch
import pellucid.distributed as dist

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, Any], Any]


def averaged(tensor: Any, group: Any) -> Any:
    """A Future of the tensor, averaged in place over a group."""
    work = dist.all_reduce(tensor, dist.ReduceOp.AVG, group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """The default behaviour without a hook."""
    return averaged(bucket.buffer(), process_group)


def _compressed(dtype: Any, group: Any, bucket: Any) -> Any:
    buffer = bucket.buffer()
    future = averaged(buffer.to(dtype), group)
    return future.then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Averages in float16: half the bytes."""
    return _compressed(torch.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Averages in bfloat16: half the bytes."""
    return _compressed(torch.bfloat16, process_group, bucket)


def _wrapped(dtype: Any, hook: Hook) -> Hook:
    def call(state: Any, bucket: Any) -> Any:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))
        return hook(state, bucket).then(lambda done: whole.copy_(done.value()))

    return call


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """The hook with gradients in float16."""
    return _wrapped(torch.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """The hook with gradients in bfloat16."""
    return _wrapped(torch.bfloat16, hook)


class BuiltinCommHookType(Enum):
    """The hooks of ``DistributedDataParallel._register_builtin_comm_hook``."""

    ALLREDUCE = 1
    FP16_COMPRESS = 2

    @property
    def hook(self) -> Hook:
        """The communication hook."""
        is_plain = self is BuiltinCommHookType.ALLREDUCE
        return allreduce_hook if is_plain else fp16_compress_hook

"""Hooks that update the parameters of a ``ZeroRedundancyOptimizer`` while backward
reduces the gradients of ``DistributedDataParallel``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid as torch
from pellucid.distributed.optim import ZeroRedundancyOptimizer

__all__ = ["hook_with_zero_step", "hook_with_zero_step_interleaved"]

Hook = Callable[[Any, Any], Any]


class _Updates:
    """Buckets whose gradients are being reduced; a bucket is updated when as many as
    ``behind`` have been started after it.
    """

    def __init__(
        self, hook: Hook, zero: ZeroRedundancyOptimizer, behind: int | None
    ) -> None:
        if not zero._overlaps:
            raise ValueError(
                "ZeroRedundancyOptimizer must be constructed with "
                "`overlap_with_ddp=True` to use this hook properly"
            )
        self._hook, self._zero, self._behind = hook, zero, behind
        self._started: list[tuple[Any, Any]] = []

    def run(self, state: Any, bucket: Any) -> Any:
        """The communication hook."""
        future = self._hook(state, bucket)
        self._started.append((bucket, future))
        if bucket.is_last():
            self._update(len(self._started))
        elif self._behind is not None:
            self._update(len(self._started) - self._behind)
        return future

    def _update(self, count: int) -> None:
        updated: list[Any] = []
        with torch.no_grad():
            for bucket, future in self._started[: max(count, 0)]:
                result = future.wait()
                whole = result[0] if isinstance(result, (list, tuple)) else result
                bucket.set_buffer(whole)
                parameters = bucket.parameters()
                gradients = zip(parameters, bucket.gradients(), strict=True)
                self._zero.step_some(dict(gradients))
                updated += parameters
            del self._started[: max(count, 0)]
            if updated:
                self._zero.share(updated)


def hook_with_zero_step(
    hook: Hook,
    ddp: Any,
    zero: ZeroRedundancyOptimizer,
    shard_buckets: bool = False,
) -> Hook:
    """``hook``, and a step of the optimizer when the last bucket is reduced. Parameters
    are shared out by their sizes, so ``shard_buckets`` changes nothing; nor are the
    first iterations, in which PyTorch learns the order of buckets, left out.

    Example::

        zero = ZeroRedundancyOptimizer(
            ddp.parameters(), torch.optim.Adam, overlap_with_ddp=True, lr=1e-3
        )
        ddp.register_comm_hook(None, hook_with_zero_step(allreduce_hook, ddp, zero))
    """
    return _Updates(hook, zero, None).run


def hook_with_zero_step_interleaved(
    hook: Hook,
    ddp: Any,
    zero: ZeroRedundancyOptimizer,
    shard_buckets: bool = False,
) -> Hook:
    """``hook_with_zero_step`` that updates a bucket while the next one is reduced."""
    return _Updates(hook, zero, 1).run

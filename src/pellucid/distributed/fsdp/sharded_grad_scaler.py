"""``ShardedGradScaler``: loss scaling with sharded gradients."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.amp.grad_scaler import GradScaler
from pellucid.distributed import distributed_c10d as dist

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """``GradScaler`` over shards: all ranks skip a step if one of them overflowed.

    ``process_group`` has the ranks that share the gradients, by default all. Without a
    default group it equals ``GradScaler``.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(
            device,
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        self.process_group = process_group

    def unscale_(self, optimizer: Any) -> None:
        """Divides gradients by the scale; overflow is reduced over the ranks."""
        super().unscale_(optimizer)
        if not self._enabled or not dist.is_initialized():
            return
        overflowed = self._overflowed[id(optimizer)]
        worst = pellucid.tensor(float(overflowed))
        dist.all_reduce(worst, op=dist.ReduceOp.MAX, group=self.process_group)
        self._overflowed[id(optimizer)] = bool(worst.item())

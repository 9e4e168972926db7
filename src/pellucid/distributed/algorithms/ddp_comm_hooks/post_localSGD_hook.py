"""Averages gradients over all ranks at first, then over a subgroup; used with
``PostLocalSGDOptimizer``, which averages parameters periodically (Lin et al., "Don't
use large mini-batches, use local SGD", 2020).
"""

from __future__ import annotations

from typing import Any

import pellucid.distributed as dist
from pellucid.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from pellucid.distributed.algorithms.ddp_comm_hooks.default_hooks import averaged

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """Counts steps. ``subgroup`` None: the ranks of each machine; without
    ``post_local_gradient_allreduce`` no gradients are averaged after
    ``start_localSGD_iter`` steps.
    """

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts a step with its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Any:
    """Averages over the group of the current step."""
    is_local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not is_local:
        return averaged(bucket.buffer(), state.process_group)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = dist.new_subgroups()
    return averaged(bucket.buffer(), state.subgroup)

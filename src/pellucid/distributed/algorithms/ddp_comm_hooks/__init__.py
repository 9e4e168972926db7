"""Hooks for ``DistributedDataParallel.register_comm_hook``, and their names."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

import pellucid.distributed as dist
from pellucid.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    powerSGD_hook,
    quantization_hooks,
)

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _register_plain(hook: Any, model: Any, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _register_low_rank(hook: Any, rank: int, model: Any, state: Any) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, rank), hook)


class DDPCommHookType(Enum):
    """The hooks by name; each value registers its hook with a model."""

    ALLREDUCE = (partial(_register_plain, default_hooks.allreduce_hook),)
    FP16_COMPRESS = (partial(_register_plain, default_hooks.fp16_compress_hook),)
    BF16_COMPRESS = (partial(_register_plain, default_hooks.bf16_compress_hook),)
    QUANTIZE_PER_TENSOR = (
        partial(_register_plain, quantization_hooks.quantization_pertensor_hook),
    )
    QUANTIZE_PER_CHANNEL = (
        partial(_register_plain, quantization_hooks.quantization_perchannel_hook),
    )
    POWER_SGD = (partial(_register_low_rank, powerSGD_hook.powerSGD_hook, 1),)
    POWER_SGD_RANK2 = (partial(_register_low_rank, powerSGD_hook.powerSGD_hook, 2),)
    BATCHED_POWER_SGD = (
        partial(_register_low_rank, powerSGD_hook.batched_powerSGD_hook, 1),
    )
    BATCHED_POWER_SGD_RANK2 = (
        partial(_register_low_rank, powerSGD_hook.batched_powerSGD_hook, 2),
    )
    NOOP = (partial(_register_plain, debugging_hooks.noop_hook),)


def register_ddp_comm_hook(
    comm_hook_type: DDPCommHookType, model: Any, state: Any = None
) -> None:
    """Registers a hook by its name; ``state`` is a process group, or None for all.

    Example::

        register_ddp_comm_hook(DDPCommHookType.BF16_COMPRESS, model)
    """
    comm_hook_type.value[0](model, state or dist.group.WORLD)

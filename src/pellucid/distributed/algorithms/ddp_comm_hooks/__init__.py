"""Hooks for ``DistributedDataParallel.register_comm_hook``."""

from pellucid.distributed.algorithms.ddp_comm_hooks import (
    default_hooks as default_hooks,
)

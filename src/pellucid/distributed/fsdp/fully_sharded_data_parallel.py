"""The module that libraries import ``FullyShardedDataParallel`` from."""

from pellucid.distributed.fsdp import (
    FullyShardedDataParallel as FullyShardedDataParallel,
)

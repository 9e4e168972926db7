"""``torch.distributed._composable``: parallelism by functions on modules."""

from pellucid.distributed._composable.checkpoint_activation import (
    checkpoint as checkpoint,
)
from pellucid.distributed._composable.contract import _get_registry as _get_registry
from pellucid.distributed._composable.contract import contract as contract
from pellucid.distributed._composable.fsdp import fully_shard as fully_shard
from pellucid.distributed._composable.replicate import replicate as replicate

__all__: list[str] = []

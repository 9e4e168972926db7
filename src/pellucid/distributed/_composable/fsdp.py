"""The former module of ``fully_shard``, from which libraries import it."""

from pellucid.distributed.fsdp import CPUOffloadPolicy as CPUOffloadPolicy
from pellucid.distributed.fsdp import FSDPModule as FSDPModule
from pellucid.distributed.fsdp import MixedPrecisionPolicy as MixedPrecisionPolicy
from pellucid.distributed.fsdp import OffloadPolicy as OffloadPolicy
from pellucid.distributed.fsdp import fully_shard as fully_shard
from pellucid.distributed.fsdp import (
    register_fsdp_forward_method as register_fsdp_forward_method,
)

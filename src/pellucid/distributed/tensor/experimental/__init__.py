"""``torch.distributed.tensor.experimental``: context parallelism, plain tensors among
DTensors, functions of local tensors, and shardings of custom ops.

``_attention.py`` shards a sequence over processes, ``_ring.py`` computes attention over
it.
"""

from pellucid.distributed.tensor._dispatch import implicit_replication
from pellucid.distributed.tensor.experimental._attention import context_parallel
from pellucid.distributed.tensor.experimental._func_map import local_map
from pellucid.distributed.tensor.experimental._register_sharding import (
    register_sharding,
)

__all__ = [
    "context_parallel",
    "implicit_replication",
    "local_map",
    "register_sharding",
]

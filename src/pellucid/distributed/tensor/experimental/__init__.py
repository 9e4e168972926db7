"""``torch.distributed.tensor.experimental``: context parallelism, and plain tensors
among DTensors.

``_attention.py`` shards a sequence over processes, ``_ring.py`` computes attention over
it.
"""

from pellucid.distributed.tensor._dispatch import implicit_replication
from pellucid.distributed.tensor.experimental._attention import context_parallel

__all__ = ["context_parallel", "implicit_replication"]

"""``torch.distributed.tensor.experimental``: context parallelism.

``_attention.py`` shards a sequence over processes, ``_ring.py`` computes attention over
it.
"""

from pellucid.distributed.tensor.experimental._attention import context_parallel

__all__ = ["context_parallel"]

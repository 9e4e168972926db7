"""``torch.distributed.tensor``: tensors whose parts processes hold.

``_dtensor.py`` has the class, ``_dispatch.py`` what a call does, ``_rules.py`` how it
is shared: by rules read off the op's declaration.
"""

from pellucid.distributed.tensor._api import (
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    rand,
    randn,
    zeros,
)
from pellucid.distributed.tensor._dtensor import DTensor
from pellucid.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
)

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "ones",
    "rand",
    "randn",
    "zeros",
]

"""``torch.distributed.tensor``: distributed tensors.

``_dtensor.py`` has the class, ``_dispatch.py`` runs calls, ``_rules.py`` chooses their
sharding by rules derived from the op's declaration.
"""

from pellucid._package.calls.submodules import submodules
from pellucid.distributed.device_mesh import DeviceMesh as DeviceMesh
from pellucid.distributed.device_mesh import init_device_mesh as init_device_mesh
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

__getattr__ = submodules(__name__)

"""The former module of ``torch.distributed.tensor``, from which libraries import it."""

from pellucid.distributed.device_mesh import DeviceMesh as DeviceMesh
from pellucid.distributed.device_mesh import init_device_mesh as init_device_mesh
from pellucid.distributed.tensor import DTensor as DTensor
from pellucid.distributed.tensor import Partial as Partial
from pellucid.distributed.tensor import Placement as Placement
from pellucid.distributed.tensor import Replicate as Replicate
from pellucid.distributed.tensor import Shard as Shard
from pellucid.distributed.tensor import distribute_module as distribute_module
from pellucid.distributed.tensor import distribute_tensor as distribute_tensor
from pellucid.distributed.tensor import empty as empty
from pellucid.distributed.tensor import full as full
from pellucid.distributed.tensor import ones as ones
from pellucid.distributed.tensor import rand as rand
from pellucid.distributed.tensor import randn as randn
from pellucid.distributed.tensor import zeros as zeros

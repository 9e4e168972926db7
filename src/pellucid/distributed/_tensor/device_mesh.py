"""The former module of ``torch.distributed.device_mesh``."""

from pellucid.distributed.device_mesh import DeviceMesh as DeviceMesh
from pellucid.distributed.device_mesh import init_device_mesh as init_device_mesh

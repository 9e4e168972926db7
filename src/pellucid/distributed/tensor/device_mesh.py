"""``torch.distributed.tensor.device_mesh``: where libraries find meshes."""

from pellucid.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]

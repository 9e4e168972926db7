"""``torch.distributed.tensor.debug``: what DTensors send, and where their parts are."""

from pellucid.distributed.tensor.debug._comm_mode import CommDebugMode
from pellucid.distributed.tensor.debug._visualize_sharding import visualize_sharding

__all__ = ["CommDebugMode", "visualize_sharding"]

"""The former module of ``torch.distributed.tensor.placement_types``."""

from pellucid.distributed.tensor._dtensor_spec import DTensorSpec as DTensorSpec
from pellucid.distributed.tensor._dtensor_spec import TensorMeta as TensorMeta
from pellucid.distributed.tensor.placement_types import Partial as Partial
from pellucid.distributed.tensor.placement_types import Placement as Placement
from pellucid.distributed.tensor.placement_types import Replicate as Replicate
from pellucid.distributed.tensor.placement_types import Shard as Shard

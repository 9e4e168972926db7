"""The former module of ``torch.distributed.tensor.experimental``."""

from pellucid.distributed.tensor.experimental import (
    implicit_replication as implicit_replication,
)
from pellucid.distributed.tensor.experimental import local_map as local_map

"""``torch.distributed.optim``: distributed optimizers."""

from pellucid.distributed.optim.optimizer import DistributedOptimizer
from pellucid.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from pellucid.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
]

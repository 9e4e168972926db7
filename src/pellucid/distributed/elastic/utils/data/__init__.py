"""``torch.distributed.elastic.utils.data``: data of a run that restarts."""

from pellucid.distributed.elastic.utils.data.cycling_iterator import (
    CyclingIterator as CyclingIterator,
)
from pellucid.distributed.elastic.utils.data.elastic_distributed_sampler import (
    ElasticDistributedSampler as ElasticDistributedSampler,
)

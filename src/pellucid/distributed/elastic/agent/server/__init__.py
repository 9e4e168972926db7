"""``torch.distributed.elastic.agent.server``: the agent that runs a machine's ranks."""

from pellucid.distributed.elastic.agent.server.api import (
    ElasticAgent,
    RunResult,
    SimpleElasticAgent,
    Worker,
    WorkerGroup,
    WorkerSpec,
    WorkerState,
)
from pellucid.distributed.elastic.agent.server.local_elastic_agent import (
    TORCHELASTIC_HEALTH_CHECK_PORT as TORCHELASTIC_HEALTH_CHECK_PORT,
)
from pellucid.distributed.elastic.agent.server.local_elastic_agent import (
    LocalElasticAgent as LocalElasticAgent,
)

__all__ = [
    "ElasticAgent",
    "RunResult",
    "SimpleElasticAgent",
    "Worker",
    "WorkerGroup",
    "WorkerSpec",
    "WorkerState",
]

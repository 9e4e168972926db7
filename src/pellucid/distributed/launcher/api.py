"""``elastic_launch``: runs a function or command on the ranks of this machine, as the
launcher's command line does.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.distributed.elastic import metrics
from pellucid.distributed.elastic.agent.server.api import DEFAULT_SIGNALS
from pellucid.distributed.elastic.agent.server.health_check_server import (
    HealthCheckServer,
)
from pellucid.distributed.elastic.agent.server.local_elastic_agent import (
    LocalElasticAgent,
)
from pellucid.distributed.elastic.agent.server.workers import WorkerSpec
from pellucid.distributed.elastic.multiprocessing.api import (
    DefaultLogsSpecs,
    LogsSpecs,
    SignalException,
)
from pellucid.distributed.elastic.multiprocessing.errors import ChildFailedError
from pellucid.distributed.elastic.rendezvous.api import (
    RendezvousClosedError,
    RendezvousParameters,
)
from pellucid.distributed.elastic.rendezvous.registry import get_rendezvous_handler

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

_SHUTDOWN_TIMEOUT = 5  # seconds between SIGTERM and SIGKILL


@dataclass
class LaunchConfig:
    """The numbers of machines and processes, and the rendezvous of the machines."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = DEFAULT_SIGNALS
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        self.rdzv_configs.setdefault("timeout", 900)
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()


class elastic_launch:
    """Calling it runs ``entrypoint``, a function or a command's first word, on every
    rank of this machine; what functions returned, by rank.

    Example: ``elastic_launch(LaunchConfig(1, 1, 2), train)("data", 0.1)``.
    """

    def __init__(
        self,
        config: LaunchConfig,
        entrypoint: Callable[..., Any] | str | None,
        health_check_server: HealthCheckServer | None = None,
    ) -> None:
        self._config, self._entrypoint = config, entrypoint
        self._health_check_server = health_check_server

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(
            self._config, self._entrypoint, list(args), self._health_check_server
        )


def _get_entrypoint_name(entrypoint: Any, args: list[Any]) -> str:
    """A function's name, a command, or the script that Python runs."""
    if callable(entrypoint):
        return str(getattr(entrypoint, "__name__", entrypoint))
    if entrypoint is None or entrypoint == sys.executable:
        scripts = (str(each) for each in args if not str(each).startswith("-"))
        return os.path.basename(next(scripts, ""))
    return str(entrypoint)


def _handler(config: LaunchConfig) -> Any:
    configs = dict(config.rdzv_configs)
    configs.setdefault("join_timeout", configs["timeout"])
    parameters = RendezvousParameters(
        backend=config.rdzv_backend,
        endpoint=config.rdzv_endpoint or "localhost:0",
        run_id=config.run_id,
        min_nodes=config.min_nodes,
        max_nodes=config.max_nodes,
        local_addr=config.local_addr,
        **configs,
    )
    return get_rendezvous_handler(parameters)


def launch_agent(
    config: LaunchConfig,
    entrypoint: Callable[..., Any] | str | None,
    args: list[Any],
    health_check_server: HealthCheckServer | None = None,
) -> dict[int, Any]:
    """Runs ``entrypoint`` on every rank of this machine; what functions returned, by
    rank. ChildFailedError if a rank fails and no restart is left.
    """
    if not config.run_id:
        config.run_id = uuid.uuid4().hex
    os.environ["TORCHELASTIC_SIGNALS_TO_HANDLE"] = config.signals_to_handle
    name = _get_entrypoint_name(entrypoint, args)
    handler = _handler(config)
    spec = WorkerSpec(
        role=config.role,
        local_world_size=config.nproc_per_node,
        entrypoint=entrypoint or sys.executable,
        args=tuple(args),
        rdzv_handler=handler,
        max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval,
        local_addr=config.local_addr,
        event_log_handler=config.event_log_handler,
        numa_options=config.numa_options,
        duplicate_stdout_filters=config.duplicate_stdout_filters,
        duplicate_stderr_filters=config.duplicate_stderr_filters,
        virtual_local_rank=config.virtual_local_rank,
    )
    assert config.logs_specs is not None
    patience = config.shutdown_timeout
    agent = LocalElasticAgent(
        spec,
        config.logs_specs,
        config.start_method,
        log_line_prefix_template=config.log_line_prefix_template,
        shutdown_timeout=_SHUTDOWN_TIMEOUT if patience is None else patience,
        health_check_server=health_check_server,
    )
    is_signalled = False
    try:
        metrics.initialize_metrics(metrics.MetricsConfig(config.metrics_cfg))
        result = agent.run(config.role)
        if not result.is_failed():
            return result.return_values
        if result.failures:
            raise ChildFailedError(name, result.failures)
        raise RendezvousClosedError(f"{name} has failed elsewhere: {agent.why()}")
    except SignalException:
        is_signalled = True
        raise
    finally:
        if not is_signalled:
            handler.shutdown()

"""``LocalElasticAgent``: the agent whose ranks are processes of this machine."""

from __future__ import annotations

import os
import signal
import tempfile
import time
import uuid
from string import Template
from typing import Any

from pellucid.distributed.elastic import events
from pellucid.distributed.elastic.agent.server.api import SimpleElasticAgent
from pellucid.distributed.elastic.agent.server.health_check_server import (
    HealthCheckServer,
    create_healthcheck_server,
)
from pellucid.distributed.elastic.agent.server.workers import (
    RunResult,
    Worker,
    WorkerGroup,
    WorkerSpec,
    WorkerState,
)
from pellucid.distributed.elastic.metrics.api import prof
from pellucid.distributed.elastic.multiprocessing import PContext, start_processes
from pellucid.distributed.elastic.multiprocessing.api import LogsSpecs
from pellucid.distributed.elastic.timer import FileTimerRequest, FileTimerServer
from pellucid.distributed.elastic.utils.api import macros

__all__ = [
    "TORCHELASTIC_ENABLE_FILE_TIMER",
    "TORCHELASTIC_HEALTH_CHECK_PORT",
    "TORCHELASTIC_TIMER_FILE",
    "LocalElasticAgent",
]

TORCHELASTIC_ENABLE_FILE_TIMER = "TORCHELASTIC_ENABLE_FILE_TIMER"
"""The variable that is 1 if the agent has a ``FileTimerServer`` for its ranks."""

TORCHELASTIC_TIMER_FILE = "TORCHELASTIC_TIMER_FILE"
"""The variable with the path of that server's pipe, which ranks have also."""

TORCHELASTIC_HEALTH_CHECK_PORT = "TORCHELASTIC_HEALTH_CHECK_PORT"
"""The variable with the port of a ``HealthCheckServer``."""

_HEALTH_TIMEOUT = 60  # seconds


def _default_threads(processes: int) -> dict[str, str]:
    """One thread per process, unless the environment sets a number."""
    if processes > 1 and "OMP_NUM_THREADS" not in os.environ:
        return {"OMP_NUM_THREADS": "1"}
    return {}


class LocalElasticAgent(SimpleElasticAgent):
    """Starts a process per rank: the function or command of ``spec``, with output as
    ``logs_specs`` says and lines of the console after ``log_line_prefix_template``,
    which may have ``${role_name}``, ``${rank}`` and ``${local_rank}``.
    """

    def __init__(
        self,
        spec: WorkerSpec,
        logs_specs: LogsSpecs,
        start_method: str = "spawn",
        exit_barrier_timeout: float = 300,
        log_line_prefix_template: str | None = None,
        shutdown_timeout: int = 30,
        health_check_server: HealthCheckServer | None = None,
    ) -> None:
        super().__init__(spec, exit_barrier_timeout, shutdown_timeout)
        self._start_method, self._logs_specs = start_method, logs_specs
        self._prefix = log_line_prefix_template or "[${role_name}${local_rank}]:"
        self._pcontext: PContext | None = None
        self._health_check_server = health_check_server
        self._last_alive = int(time.time())
        self._worker_watchdog: FileTimerServer | None = None

    def _start_health_check(self) -> None:
        port = os.environ.get(TORCHELASTIC_HEALTH_CHECK_PORT)
        if self._health_check_server is None and port is not None:
            self._health_check_server = create_healthcheck_server(
                lambda: self._last_alive, int(port), _HEALTH_TIMEOUT
            )
            self._health_check_server.start()

    def _start_watchdog(self) -> dict[str, str]:
        """Starts the server of the ranks' timers, if the environment asks for one; the
        ranks' variable.
        """
        path = os.environ.get(TORCHELASTIC_TIMER_FILE)
        if os.environ.get(TORCHELASTIC_ENABLE_FILE_TIMER) == "1":
            if path is None:
                name = f"watchdog_timer_{uuid.uuid4()}"
                path = os.path.join(tempfile.gettempdir(), name)
            run = self._worker_group.spec.rdzv_handler.get_run_id()
            self._worker_watchdog = FileTimerServer(
                path, run, max_interval=0.1, log_event=self._log_watchdog_event
            )
            self._worker_watchdog.start()
        return {} if path is None else {TORCHELASTIC_TIMER_FILE: path}

    def _log_watchdog_event(self, name: str, request: FileTimerRequest | None) -> None:
        about: dict[str, Any] = {"watchdog_event": name}
        if request is not None:
            about |= {
                "worker_pid": str(request.worker_pid),
                "scope_id": request.scope_id,
            }
            about["expiration_time"] = str(request.expiration_time)
            about["signal"] = str(int(request.signal))
        events.record(
            events.Event(name, events.EventSource.AGENT, metadata=about),
            self._worker_group.spec.event_log_handler,
        )

    def _environment(self, group: WorkerGroup, worker: Worker) -> dict[str, str]:
        """The variables that identify a rank."""
        spec = group.spec
        here = spec.local_world_size
        variables = {
            "LOCAL_RANK": worker.local_rank,
            "RANK": worker.global_rank,
            "GROUP_RANK": group.group_rank,
            "ROLE_RANK": worker.role_rank,
            "ROLE_NAME": spec.role,
            "LOCAL_WORLD_SIZE": here,
            "WORLD_SIZE": worker.world_size,
            "GROUP_WORLD_SIZE": group.group_world_size,
            "ROLE_WORLD_SIZE": worker.role_world_size,
            "MASTER_ADDR": group.master_addr,
            "MASTER_PORT": group.master_port,
            "TORCHELASTIC_RESTART_COUNT": spec.max_restarts - self._remaining_restarts,
            "TORCHELASTIC_MAX_RESTARTS": spec.max_restarts,
            "TORCHELASTIC_RUN_ID": spec.rdzv_handler.get_run_id(),
            "TORCHELASTIC_USE_AGENT_STORE": spec.rdzv_handler.use_agent_store,
            "PELLUCID_LAUNCH_ROUND": self._round_id,
            **_default_threads(here),
        }
        if spec.virtual_local_rank:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            devices = visible.split(",") if visible else list(map(str, range(here)))
            variables["CUDA_VISIBLE_DEVICES"] = devices[worker.local_rank]
            variables["LOCAL_RANK"] = 0
        return {name: str(value) for name, value in variables.items()}

    @prof
    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        spec = worker_group.spec
        assert spec.entrypoint is not None
        args: dict[int, tuple[Any, ...]] = {}
        envs: dict[int, dict[str, str]] = {}
        prefixes: dict[int, str] = {}
        for worker in worker_group.workers:
            rank = worker.local_rank
            envs[rank] = self._environment(worker_group, worker)
            args[rank] = tuple(macros.substitute(list(spec.args), str(rank)))
            facts = {"role_name": spec.role, "rank": worker.global_rank}
            template = Template(self._prefix)
            prefixes[rank] = template.safe_substitute(local_rank=rank, **facts)
        timers = self._start_watchdog()
        for variables in envs.values():
            variables |= timers
        self._start_health_check()
        self._pcontext = start_processes(
            name=spec.role,
            entrypoint=spec.entrypoint,
            args=args,
            envs=envs,
            logs_specs=self._logs_specs,
            log_line_prefixes=prefixes,
            start_method=self._start_method,
            numa_options=spec.numa_options,
            duplicate_stdout_filters=spec.duplicate_stdout_filters,
            duplicate_stderr_filters=spec.duplicate_stderr_filters,
        )
        return self._pcontext.pids()

    @prof
    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        self._close(signal.SIGTERM, self._shutdown_timeout)

    def _close(self, death_sig: signal.Signals, timeout: int) -> None:
        if self._worker_watchdog is not None:
            self._worker_watchdog.stop()
            self._worker_watchdog = None
        if self._pcontext is not None:
            self._pcontext.close(death_sig, timeout)
            self._pcontext = None

    def _shutdown(
        self, death_sig: signal.Signals = signal.SIGTERM, timeout: int = 30
    ) -> None:
        if self._health_check_server is not None:
            self._health_check_server.stop()
            self._health_check_server = None
        self._close(death_sig, timeout)

    @prof
    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        self._last_alive = int(time.time())
        assert self._pcontext is not None
        result = self._pcontext._poll()
        if result is None:
            return RunResult(WorkerState.HEALTHY)
        ranks = {w.local_rank: w.global_rank for w in worker_group.workers}
        if result.is_failed():
            failures = {ranks[local]: each for local, each in result.failures.items()}
            return RunResult(WorkerState.FAILED, failures=failures)
        values = {ranks[local]: each for local, each in result.return_values.items()}
        return RunResult(WorkerState.SUCCEEDED, return_values=values)

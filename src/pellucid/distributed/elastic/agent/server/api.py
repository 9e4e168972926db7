"""``SimpleElasticAgent``: restarts a machine's ranks until they succeed, or fail too
often. Subclasses start, watch and stop the processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NoReturn

from pellucid.distributed._stores.store import Store
from pellucid.distributed.elastic import events
from pellucid.distributed.elastic.agent.server.workers import (
    RunResult,
    Worker,
    WorkerGroup,
    WorkerSpec,
    WorkerState,
)
from pellucid.distributed.elastic.metrics.api import prof, put_metric
from pellucid.distributed.elastic.multiprocessing.api import SignalException
from pellucid.distributed.elastic.rendezvous.api import RendezvousStoreInfo
from pellucid.distributed.elastic.utils import store as store_util

__all__ = [
    "ElasticAgent",
    "RunResult",
    "SimpleElasticAgent",
    "Worker",
    "WorkerGroup",
    "WorkerSpec",
    "WorkerState",
]

_FAILED = "agent/failed"  # in the store of a round: a rank of some machine has failed
_LOOK = 0.5  # seconds between looks at the rendezvous
_REPORTING = 0.3  # seconds in which other ranks' errors include how a rank has ended
DEFAULT_SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"


class ElasticAgent(ABC):
    """Runs the ranks of one machine."""

    @abstractmethod
    def run(self, role: str = "default") -> RunResult:
        """Runs them until they have ended."""

    @abstractmethod
    def get_worker_group(self, role: str = "default") -> WorkerGroup:
        """The ranks."""


def _raise_signal(number: int, frame: Any) -> NoReturn:
    which = signal.Signals(number)
    raise SignalException(f"Process {os.getpid()} got signal: {number}", which)


@contextlib.contextmanager
def _raising_signals() -> Iterator[None]:
    """Inside the context, signals that end the agent raise SignalException."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = os.environ.get("TORCHELASTIC_SIGNALS_TO_HANDLE", DEFAULT_SIGNALS)
    numbers = [signal.Signals[name.strip()] for name in names.split(",")]
    previous = {number: signal.signal(number, _raise_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class SimpleElasticAgent(ElasticAgent):
    """An agent of ranks that all have one role."""

    def __init__(
        self,
        spec: WorkerSpec,
        exit_barrier_timeout: float = 300,
        shutdown_timeout: int = 30,
    ) -> None:
        self._worker_group = WorkerGroup(spec)
        self._remaining_restarts = spec.max_restarts
        self._exit_barrier_timeout = exit_barrier_timeout
        self._shutdown_timeout = shutdown_timeout
        self._store: Store | None = None
        self._round_id = ""
        self._next_look = 0.0

    def get_worker_group(self, role: str = "default") -> WorkerGroup:
        """The ranks."""
        return self._worker_group

    @abstractmethod
    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        """Starts the processes; their ids by local rank."""

    @abstractmethod
    def _stop_workers(self, worker_group: WorkerGroup) -> None:
        """Ends the processes of a round."""

    @abstractmethod
    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        """What the processes do, without waiting."""

    @abstractmethod
    def _shutdown(
        self, death_sig: signal.Signals = signal.SIGTERM, timeout: int = 30
    ) -> None:
        """Ends all processes, and frees what the agent has."""

    @prof
    def _rendezvous(self, worker_group: WorkerGroup) -> None:
        spec = worker_group.spec
        info = spec.rdzv_handler.next_rendezvous()
        place = info.bootstrap_store_info
        if place is None:
            place = RendezvousStoreInfo.build(info.rank, info.store, spec.local_addr)
        worker_group.workers = self._assign_worker_ranks(
            info.store, info.rank, info.world_size, spec
        )
        worker_group.store, self._store = info.store, info.store
        worker_group.group_rank = info.rank
        worker_group.group_world_size = info.world_size
        worker_group.master_addr = spec.master_addr or place.master_addr
        worker_group.master_port = spec.master_port or place.master_port

    @prof
    def _assign_worker_ranks(
        self, store: Store, group_rank: int, group_world_size: int, spec: WorkerSpec
    ) -> list[Worker]:
        """The ranks of this machine, after those of machines with a smaller number."""
        own = {"role": spec.role, "size": spec.local_world_size, "id": uuid.uuid4().hex}
        texts = store_util.synchronize(
            *(store, json.dumps(own).encode(), group_rank, group_world_size),
            "agent/machine",
            timeout=self._exit_barrier_timeout,
        )
        machines = [json.loads(text) for text in texts]
        self._round_id = machines[0]["id"]
        sizes = [machine["size"] for machine in machines]
        of_role = [m["size"] if m["role"] == spec.role else 0 for m in machines]
        first, first_of_role = sum(sizes[:group_rank]), sum(of_role[:group_rank])
        return [
            Worker(rank, first + rank, first_of_role + rank, sum(sizes), sum(of_role))
            for rank in range(spec.local_world_size)
        ]

    @prof
    def _initialize_workers(self, worker_group: WorkerGroup) -> None:
        self._rendezvous(worker_group)
        for local_rank, id in self._start_workers(worker_group).items():
            worker_group.workers[local_rank].id = id
        worker_group.state = WorkerState.HEALTHY

    @prof
    def _restart_workers(self, worker_group: WorkerGroup) -> None:
        self._stop_workers(worker_group)
        worker_group.state = WorkerState.STOPPED
        self._initialize_workers(worker_group)

    def run(self, role: str = "default") -> RunResult:
        """Runs the ranks until all have succeeded, or one has failed and no restart is
        left. SignalException if this process gets a signal to end.
        """
        start = time.monotonic()
        death_signal = signal.SIGTERM
        with _raising_signals():
            try:
                result = self._invoke_run(role)
            except SignalException as error:
                death_signal = error.sigval
                self._record_event("FAILED", events.EventSource.AGENT, start)
                raise
            except BaseException:
                self._record_event("FAILED", events.EventSource.AGENT, start)
                raise
            finally:
                self._shutdown(death_signal, self._shutdown_timeout)
        put_metric(f"workers.{role}.run_{result.state.value.lower()}", 1)
        for worker in self._worker_group.workers:
            source = events.EventSource.WORKER
            self._record_event(result.state.value, source, start, worker)
        self._record_event(result.state.value, events.EventSource.AGENT, start)
        return result

    def _record_event(
        self,
        state: str,
        source: events.EventSource,
        start: float,
        worker: Worker | None = None,
    ) -> None:
        group = self._worker_group
        spec = group.spec
        facts: dict[str, Any] = {
            "run_id": spec.rdzv_handler.get_run_id(),
            "global_rank": worker.global_rank if worker else None,
            "group_rank": group.group_rank,
            "worker_id": str(worker.id) if worker else None,
            "role": spec.role,
            "state": state,
            "total_run_time": int(time.monotonic() - start),
            "rdzv_backend": spec.rdzv_handler.get_backend(),
            "agent_restarts": spec.max_restarts - self._remaining_restarts,
        }
        name = f"torchelastic.worker.status.{state}"
        event = events.Event(name, source, int(time.time() * 1000), facts)
        events.record(event, spec.event_log_handler)

    def _invoke_run(self, role: str = "default") -> RunResult:
        group, spec = self._worker_group, self._worker_group.spec
        self._initialize_workers(group)
        while True:
            time.sleep(spec.monitor_interval)
            result = self._monitor_workers(group)
            has_failed_here = result.state in (
                *(WorkerState.UNHEALTHY, WorkerState.FAILED),
            )
            if result.state is WorkerState.SUCCEEDED:
                group.state = result.state
                self._exit_barrier()
                return result
            news = "failed" if has_failed_here else self._look()
            if news == "failed":
                self._note_failure(result)
                if self._remaining_restarts <= 0:
                    time.sleep(_REPORTING)
                    self._stop_workers(group)
                    group.state = WorkerState.FAILED
                    return RunResult(WorkerState.FAILED, failures=result.failures)
                self._remaining_restarts -= 1
                self._print_restart(result)
            if news:
                self._restart_workers(group)
            else:
                group.state = result.state

    def _look(self) -> str:
        """Why this machine's ranks must stop, though they are well: "failed", "joined"
        or "".
        """
        now = time.monotonic()
        if now < self._next_look:
            return ""
        self._next_look = now + _LOOK
        assert self._store is not None
        if self._store.check([_FAILED]):
            return "failed"
        waiting = self._worker_group.spec.rdzv_handler.num_nodes_waiting()
        return "joined" if waiting > 0 else ""

    def _note_failure(self, result: RunResult) -> None:
        """Tells the agents of other machines, and the errors of other ranks."""
        assert self._store is not None
        root = self._store
        while hasattr(root, "underlying_store"):
            root = root.underlying_store
        text = "a rank has failed"
        with contextlib.suppress(RuntimeError, OSError):
            for rank, failure in result.failures.items():
                text = f"rank {rank} has ended, {failure.how()}"
                root.set(f"exit/{failure.pid}", failure.how())
            self._store.compare_set(_FAILED, "", text)

    def why(self) -> str:
        """Which rank of some machine has failed first."""
        if self._store is None or not self._store.check([_FAILED]):
            return ""
        return self._store.get(_FAILED).decode()

    def _print_restart(self, result: RunResult) -> None:
        most = self._worker_group.spec.max_restarts
        count = f"restart {most - self._remaining_restarts} of {most}"
        for rank, failure in list(result.failures.items())[:1]:
            print(
                f"rank {rank} (pid {failure.pid}) has ended, {failure.how()}; {count}",
                file=sys.stderr,
            )

    def _exit_barrier(self) -> None:
        """Waits until all machines have ended, since one of them has the store."""
        group, store = self._worker_group, self._store
        assert store is not None and group.group_world_size is not None
        with contextlib.suppress(RuntimeError, OSError):
            end = time.monotonic() + self._exit_barrier_timeout
            store.add("agent/ended", 1)
            while store.add("agent/ended", 0) < group.group_world_size:
                if time.monotonic() > end or store.check([_FAILED]):
                    return
                time.sleep(0.05)

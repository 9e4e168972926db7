"""What an agent runs (``WorkerSpec``), and the ranks of its machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pellucid._package.calls.deprecation import advise
from pellucid.distributed._stores.store import Store
from pellucid.distributed.elastic.multiprocessing.errors import ProcessFailure
from pellucid.distributed.elastic.rendezvous.api import RendezvousHandler

__all__ = ["RunResult", "Worker", "WorkerGroup", "WorkerSpec", "WorkerState"]


@dataclass
class WorkerSpec:
    """The program, the number of its processes on this machine, and the rendezvous."""

    role: str
    local_world_size: int
    rdzv_handler: RendezvousHandler
    fn: Callable[..., Any] | None = None
    entrypoint: Callable[..., Any] | str | None = None
    args: tuple[Any, ...] = ()
    max_restarts: int = 3
    monitor_interval: float = 0.1
    master_port: int | None = None
    master_addr: str | None = None
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False

    def __post_init__(self) -> None:
        if self.fn:
            advise("WorkerSpec.fn will be deprecated, please use WorkerSpec.entrypoint")
            self.entrypoint = self.fn
        for name in ("local_world_size", "monitor_interval"):
            if getattr(self, name) <= 0:
                raise AssertionError(f"{name} must be positive")
        if not self.entrypoint:
            raise AssertionError("entrypoint must be a function or a command")

    def get_entrypoint_name(self) -> str:
        """The command, or the function's name."""
        if isinstance(self.entrypoint, str):
            return self.entrypoint
        return str(getattr(self.entrypoint, "__qualname__", self.entrypoint))


class Worker:
    """A rank: its numbers on the machine, in the job, and among those of its role."""

    __slots__ = (
        *("id", "local_rank", "global_rank"),
        *("role_rank", "world_size", "role_world_size"),
    )

    def __init__(
        self,
        local_rank: int,
        global_rank: int = -1,
        role_rank: int = -1,
        world_size: int = -1,
        role_world_size: int = -1,
    ) -> None:
        self.id: Any = None  # its process id, while it runs
        self.local_rank, self.global_rank = local_rank, global_rank
        self.role_rank, self.world_size = role_rank, world_size
        self.role_world_size = role_world_size

    def __str__(self) -> str:
        facts = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"Worker({facts})"

    __repr__ = __str__


class WorkerState(str, Enum):  # noqa: UP042 - as PyTorch prints it
    """What the ranks of a machine do."""

    UNKNOWN = "UNKNOWN"
    INIT = "INIT"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @staticmethod
    def is_running(state: WorkerState) -> bool:
        """Whether the processes run."""
        return state in {WorkerState.HEALTHY, WorkerState.UNHEALTHY}


class WorkerGroup:
    """The ranks of this machine, in the current round of the rendezvous."""

    __slots__ = (
        *("spec", "workers", "store", "group_rank", "group_world_size", "state"),
        *("master_addr", "master_port"),
    )

    def __init__(self, spec: WorkerSpec) -> None:
        self.spec = spec
        self.workers = [Worker(local_rank=r) for r in range(spec.local_world_size)]
        self.store: Store | None = None
        self.group_rank: int | None = None
        self.group_world_size: int | None = None
        self.master_addr: str | None = None
        self.master_port: int | None = None
        self.state = WorkerState.INIT


@dataclass
class RunResult:
    """How the ranks have ended: what functions returned, or failures, by rank."""

    state: WorkerState
    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether a rank has failed."""
        return self.state is WorkerState.FAILED

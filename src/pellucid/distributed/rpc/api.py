"""The public functions of ``torch.distributed.rpc``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import wraps
from typing import Any, TypeVar

import pellucid as torch
from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.store import Store, seconds_of
from pellucid.distributed.rendezvous import rendezvous
from pellucid.distributed.rpc import constants
from pellucid.distributed.rpc.agent import Agent
from pellucid.distributed.rpc.constants import UNSET_RPC_TIMEOUT
from pellucid.distributed.rpc.functions import async_execution
from pellucid.distributed.rpc.references import remote, rpc_async, rpc_sync
from pellucid.distributed.rpc.state import State, Table, agent
from pellucid.distributed.rpc.workers import WorkerInfo

__all__ = [
    "UNSET_RPC_TIMEOUT",
    "BackendType",
    "RpcBackendOptions",
    "TensorPipeRpcBackendOptions",
    "async_execution",
    "get_rpc_timeout",
    "get_worker_info",
    "init_rpc",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

_F = TypeVar("_F", bound=Callable[..., Any])


class BackendType(Enum):
    """The backend types; there is one."""

    TENSORPIPE = "tensorpipe"


class RpcBackendOptions:
    """The options of any backend."""


@dataclass
class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """Options: the number of threads, the timeout of calls, the rendezvous."""

    num_worker_threads: int = constants.DEFAULT_NUM_WORKER_THREADS
    rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC
    init_method: str = constants.DEFAULT_INIT_METHOD
    device_maps: dict[str, Any] = field(default_factory=dict)
    devices: list[Any] = field(default_factory=list)
    _transports: Any = None
    _channels: Any = None

    def set_device_map(self, to: str, device_map: dict[Any, Any]) -> None:
        """RuntimeError: tensors travel through host memory."""
        raise RuntimeError(
            "Cannot access accelerator device when none is available."
            if not torch.cuda.is_available()
            else "tensors of calls travel through host memory: send x.cpu()"
        )

    def set_devices(self, devices: list[Any]) -> None:
        """RuntimeError, like ``set_device_map``, unless the list is empty."""
        if devices:
            self.set_device_map("", {})


def get_rpc_timeout() -> float:
    """The timeout of calls that give none, in seconds."""
    agent()
    return State.timeout


def _host(store: Store) -> str:
    """The address at which this worker accepts calls."""
    from pellucid.distributed._transport.choose import host_of, own_address

    known = host_of(store)
    return own_address(known in ("", "127.0.0.1", "localhost"), known)


_sessions = [0]


def init_rpc(
    name: str,
    backend: BackendType | None = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: TensorPipeRpcBackendOptions | None = None,
) -> None:
    """Makes this process a worker that others call by ``name``; waits for all.

    Example: ``init_rpc("worker0", rank=0, world_size=2)``.
    """
    if State.agent is not None:
        raise RuntimeError("RPC is already initialized")
    options = rpc_backend_options or TensorPipeRpcBackendOptions()
    size = -1 if world_size is None else world_size
    store, rank, size = next(rendezvous(options.init_method, rank, size))
    _sessions[0] += 1
    State.timeout = seconds_of(options.rpc_timeout)
    own = PrefixStore(f"rpc{_sessions[0]}", store)
    threads = options.num_worker_threads
    State.agent = Agent(name, rank, size, own, threads, _host(store))
    State.agent.meet("start")


def shutdown(
    graceful: bool = True, timeout: float = constants.DEFAULT_SHUTDOWN_TIMEOUT
) -> None:
    """Shuts RPC down on this worker; if ``graceful``, after all workers have called it
    and received their replies. RuntimeError if one of them has ended before.
    """
    current = agent()
    try:
        if graceful:
            current.settle()
            current.leave()
    finally:
        State.agent = None
        State.table = Table()
        current.close()


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """The WorkerInfo of a worker, by default of this one."""
    return agent().own if worker_name is None else agent().worker(worker_name)


def _require_initialized(fn: _F) -> _F:
    """Decorates ``fn`` to raise before ``init_rpc``; used by libraries."""

    @wraps(fn)
    def checked(*args: Any, **kwargs: Any) -> Any:
        agent()
        return fn(*args, **kwargs)

    return checked  # type: ignore[return-value]

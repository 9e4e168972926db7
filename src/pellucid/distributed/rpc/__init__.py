"""``torch.distributed.rpc``: remote procedure calls, remote references."""

from pellucid.distributed.rpc import functions as functions
from pellucid.distributed.rpc.api import (
    BackendType,
    RpcBackendOptions,
    TensorPipeRpcBackendOptions,
    get_rpc_timeout,
    get_worker_info,
    init_rpc,
    remote,
    rpc_async,
    rpc_sync,
    shutdown,
)
from pellucid.distributed.rpc.references import RRef
from pellucid.distributed.rpc.workers import WorkerInfo
from pellucid.futures import Future

__all__ = [
    "BackendType",
    "Future",
    "RRef",
    "RpcBackendOptions",
    "TensorPipeRpcBackendOptions",
    "WorkerInfo",
    "get_rpc_timeout",
    "get_worker_info",
    "init_rpc",
    "is_available",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]


def is_available() -> bool:
    """True."""
    return True

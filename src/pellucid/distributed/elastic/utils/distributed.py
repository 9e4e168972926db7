"""Ports, and stores that wait for their processes."""

from __future__ import annotations

import contextlib
import socket
from datetime import timedelta

from pellucid.distributed._stores.errors import DistNetworkError
from pellucid.distributed._stores.tcp_store import TCPStore

__all__ = ["create_c10d_store", "get_free_port", "get_socket_with_port"]


def create_c10d_store(
    is_server: bool,
    server_addr: str,
    server_port: int = -1,
    world_size: int = 1,
    timeout: float = 60 * 10,
    wait_for_workers: bool = True,
    retries: int = 3,
    use_libuv: bool | None = None,
) -> TCPStore:
    """A TCPStore; the server takes a free port for -1, again if another process has
    taken it meanwhile.
    """
    if server_port == -1 and world_size > 1:
        raise ValueError(
            f"server_port must be specified when world_size > 1, got server_port="
            f"{server_port}, world_size={world_size}"
        )
    attempts = retries if server_port == -1 else 1
    while True:
        port = get_free_port() if server_port == -1 else server_port
        attempts -= 1
        with contextlib.suppress(*((DistNetworkError,) if attempts > 0 else ())):
            return TCPStore(
                *(server_addr, port, world_size, is_server),
                timeout=timedelta(seconds=timeout),
                wait_for_workers=wait_for_workers,
            )


def get_free_port() -> int:
    """A port that was free."""
    with contextlib.closing(get_socket_with_port()) as probe:
        return int(probe.getsockname()[1])


def get_socket_with_port() -> socket.socket:
    """A socket that is bound to a free port, which the caller must close."""
    probe = socket.socket()
    probe.bind(("", 0))
    return probe

"""Rendezvous: how processes find the store, by environment, address or file.

The environment is that of the launcher; without it, Slurm's and mpiexec's variables
identify this process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from pellucid.distributed._stores.file_store import FileStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.tcp_store import TCPStore
from pellucid.distributed.constants import default_pg_timeout

__all__ = ["register_rendezvous_handler", "rendezvous"]

Found = tuple[Store, int, int]
_stores: dict[tuple[str, int], TCPStore] = {}
_handlers: dict[str, Callable[..., Iterator[Found]]] = {}

# The variables of other launchers for the rank and the world size.
_RANKS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
_SIZES = ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")


def register_rendezvous_handler(
    scheme: str, handler: Callable[..., Iterator[Found]]
) -> None:
    """Registers a rendezvous ``scheme://``: ``handler(url)`` yields
    ``(store, rank, world_size)``.
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **options: Any
) -> Iterator[Found]:
    """Yields ``(store, rank, world_size)`` for ``env://``, ``tcp://host:port`` or
    ``file:///path``.
    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    parts = urlparse(url)
    if parts.scheme not in _handlers:
        raise RuntimeError(
            f"No rendezvous handler for {parts.scheme or url}://; there are "
            + ", ".join(f"{name}://" for name in _handlers)
        )
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    rank = rank if rank >= 0 else int(query.get("rank", -1))
    size = world_size if world_size >= 0 else int(query.get("world_size", -1))
    return _handlers[parts.scheme](url, rank=rank, world_size=size, **options)


def check_rank(rank: int, world_size: int) -> None:
    """Refuses a rank that the world does not have."""
    if not 0 <= rank < world_size:
        raise ValueError(
            "rank must be at least 0 and less than world_size: rank is "
            f"{rank}, world_size {world_size}"
        )


def _missing(scheme: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}://: {what}")


def _from_file(
    url: str, rank: int = -1, world_size: int = -1, **options: Any
) -> Iterator[Found]:
    path = urlparse(url).path
    if not path:
        raise _missing("file", "path missing, as in file:///tmp/job1")
    if rank < 0 or world_size < 0:
        raise _missing("file", "rank and world_size parameter missing")
    yield FileStore(path, world_size), rank, world_size


def _from_address(
    url: str,
    rank: int = -1,
    world_size: int = -1,
    timeout: timedelta = default_pg_timeout,
    **options: Any,
) -> Iterator[Found]:
    parts = urlparse(url)
    if parts.port is None or parts.hostname is None:
        raise _missing("tcp", "port number missing, as in tcp://10.0.0.1:29500")
    if rank < 0 or world_size < 0:
        raise _missing("tcp", "rank and world_size parameter missing")
    host, port = parts.hostname, parts.port
    store = _tcp_store(host, port, world_size, rank, False, timeout)
    yield store, rank, world_size


def _number(given: int, name: str, others: tuple[str, ...]) -> int:
    if given >= 0:
        return given
    for variable in (name, *others):
        if variable in os.environ:
            value = os.environ[variable]
            if not re.fullmatch(r"\s*-?\d+\s*", value):
                raise _missing("env", f"{variable} is {value!r}, not a number")
            return int(value)
    raise _missing(
        "env",
        f"rendezvous: environment variable {name} expected, but not set; the launcher "
        "sets it: python -m pellucid.distributed.run --nproc-per-node=2 train.py",
    )


def _first_slurm_host() -> str | None:
    nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_NODELIST")
    if not nodes:
        return None
    found = re.match(r"([^,\[]+)(?:\[(\d+))?", nodes)
    assert found is not None
    return found[1] + (found[2] or "")


def _master_address(size: int) -> str:
    host = os.environ.get("MASTER_ADDR") or _first_slurm_host()
    is_one_machine = os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") == str(size)
    is_one_machine |= os.environ.get("MPI_LOCALNRANKS") == str(size)
    if host is None and is_one_machine:
        return "127.0.0.1"
    if host is None:
        raise _missing(
            "env", "rendezvous: environment variable MASTER_ADDR expected, but not set"
        )
    return host


def _master_port() -> int:
    if "MASTER_PORT" in os.environ:
        return int(os.environ["MASTER_PORT"])
    if "SLURM_JOB_ID" in os.environ:  # the same on all nodes
        return 20000 + int(os.environ["SLURM_JOB_ID"]) % 20000
    if any(name in os.environ for name in _RANKS):  # mpiexec on one machine
        return 20000 + os.getppid() % 20000
    raise _missing(
        "env", "rendezvous: environment variable MASTER_PORT expected, but not set"
    )


def _tcp_store(
    host: str, port: int, size: int, rank: int, has_agent: bool, timeout: timedelta
) -> TCPStore:
    """One store per process and address, reused by rebuilt groups."""
    check_rank(rank, size)  # before it waits for the others
    if (host, port) not in _stores:
        is_master = rank == 0 and not has_agent
        waits = not has_agent
        _stores[host, port] = TCPStore(host, port, size, is_master, timeout, waits)
    return _stores[host, port]


def _from_environment(
    url: str,
    rank: int = -1,
    world_size: int = -1,
    timeout: timedelta = default_pg_timeout,
    **options: Any,
) -> Iterator[Found]:
    rank = _number(rank, "RANK", _RANKS)
    size = _number(world_size, "WORLD_SIZE", _SIZES)
    host, port = _master_address(size), _master_port()
    has_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store: Store = _tcp_store(host, port, size, rank, has_agent, timeout)
    if has_agent:
        from pellucid.distributed._stores.prefix_store import PrefixStore

        number = os.environ.get("PELLUCID_LAUNCH_ROUND")
        attempt = number or os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = PrefixStore(f"attempt_{attempt}", store)
    yield store, rank, size


register_rendezvous_handler("env", _from_environment)
register_rendezvous_handler("tcp", _from_address)
register_rendezvous_handler("file", _from_file)

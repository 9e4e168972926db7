"""The rendezvous: rounds in which the agents of all machines form a group."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from dataclasses import dataclass

from pellucid.distributed._launch.config import LaunchConfig
from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.tcp_store import TCPStore
from pellucid.distributed.errors import DistNetworkError

_LAST_CALL = 30.0  # seconds that a round waits for more than the minimum of machines


@dataclass(frozen=True)
class Round:
    """A group of machines: this one's rank, and each one's number of processes."""

    number: int
    node_rank: int
    processes: list[int]
    host: str
    port: int

    @property
    def first_rank(self) -> int:
        """The ranks of the processes on this machine."""
        return sum(self.processes[: self.node_rank])

    @property
    def world_size(self) -> int:
        """The number of all processes."""
        return sum(self.processes)


def _is_here(host: str) -> bool:
    """Whether a host name denotes this machine."""
    if host in ("localhost", "127.0.0.1", socket.gethostname()):
        return True
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.bind((socket.gethostbyname(host), 0))
        return True
    return False


class Meeting:
    """The agents' store, hosted by the first of them, and the rounds."""

    def __init__(self, config: LaunchConfig) -> None:
        self._config = config
        host, _, port = (config.rdzv_endpoint or "localhost:0").partition(":")
        self.host, number = host, int(port or 29500)
        is_first = _is_here(host) if config.node_rank < 0 else config.node_rank == 0
        self._root = self._open(number, is_first)
        self.store = PrefixStore(f"launch/{config.run_id}", self._root)
        self._number = 0

    def _open(self, port: int, is_first: bool) -> TCPStore:
        if is_first:
            with contextlib.suppress(DistNetworkError):
                return TCPStore(self.host, port, None, True, wait_for_workers=False)
            if self._config.node_rank == 0 or self._config.max_nodes == 1:
                return TCPStore(self.host, port, None, True, wait_for_workers=False)
        return TCPStore(self.host, port, None, False, wait_for_workers=False)

    def join(self) -> Round:
        """Waits for a round with enough machines, including this one."""
        config = self._config
        while True:
            self._number = int(self._get("round", "0"))
            key = f"round{self._number}"
            index = config.node_rank
            if index < 0:
                index = self.store.add(f"{key}/joined", 1) - 1
            else:
                self.store.add(f"{key}/joined", 1)
            self.store.set(f"{key}/node{index}", json.dumps(config.nproc_per_node))
            size = self._close(key)
            if index < size:
                return self._round(key, index, size)
            self.store.set(f"{key}/late", "1")  # its members form a new one
            while int(self._get("round", "0")) == self._number:
                time.sleep(0.1)

    def _get(self, key: str, default: str) -> str:
        return self.store.get(key).decode() if self.store.check([key]) else default

    def _close(self, key: str) -> int:
        config = self._config
        wait = float(config.rdzv_configs.get("last_call_timeout", _LAST_CALL))
        end = time.monotonic() + float(config.rdzv_configs.get("join_timeout", 600))
        last_call = None
        while not self.store.check([f"{key}/size"]):
            joined = self.store.add(f"{key}/joined", 0)
            now = time.monotonic()
            if joined >= config.min_nodes and last_call is None:
                last_call = now + wait
            is_time = last_call is not None and now > last_call
            if joined >= config.max_nodes or is_time:
                size = str(min(joined, config.max_nodes))
                self.store.compare_set(f"{key}/size", "", size)
            elif now > end:
                raise TimeoutError(
                    f"{joined} of at least {config.min_nodes} machines have joined "
                    f"the run {config.run_id!r} at {config.rdzv_endpoint}"
                )
            else:
                time.sleep(0.05)
        return int(self.store.get(f"{key}/size"))

    def _round(self, key: str, index: int, size: int) -> Round:
        keys = [f"{key}/node{node}" for node in range(size)]
        processes = [int(json.loads(text)) for text in self.store.multi_get(keys)]
        return Round(self._number, index, processes, self.host, self._root.port)

    def ends(self) -> str:
        """Why the machines of this round must stop: "failed", "joined", or ""."""
        key = f"round{self._number}"
        if self.store.check([f"{key}/failed"]):
            return "failed"
        is_wanted = self.store.check([f"{key}/late"])
        size = int(self._get(f"{key}/size", "0"))
        return "joined" if is_wanted and size < self._config.max_nodes else ""

    def end_round(self, reason: str) -> None:
        """Makes all machines stop their ranks, and opens the next round."""
        self.store.set(f"round{self._number}/{reason}", "1")
        following = str(self._number + 1)
        current = str(self._number) if self._number else ""
        self.store.compare_set("round", current, following)

    def note_exit(self, pid: int, how: str) -> None:
        """Records a rank's end, for the errors of other ranks."""
        with contextlib.suppress(OSError, RuntimeError):
            self._root.set(f"exit/{pid}", how)

    def finish(self, world: int) -> None:
        """Waits until all machines have finished, since this one may host the store."""
        key = f"round{self._number}/finished"
        with contextlib.suppress(RuntimeError):
            if self.store.add(key, 1) < world:
                end = time.monotonic() + 300
                while self.store.add(key, 0) < world and time.monotonic() < end:
                    if self.ends() == "failed":
                        return
                    time.sleep(0.05)


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def default_threads(processes: int) -> dict[str, str]:
    """Sets one thread per process, unless the environment sets a number."""
    if processes > 1 and "OMP_NUM_THREADS" not in os.environ:
        return {"OMP_NUM_THREADS": "1"}
    return {}

"""What a process has between ``init_rpc`` and ``shutdown``: its agent, and the values
that it owns.
"""

from __future__ import annotations

import itertools
import threading

from pellucid.distributed.rpc.agent import Agent
from pellucid.distributed.rpc.constants import DEFAULT_RPC_TIMEOUT_SEC
from pellucid.futures import Future

Identity = tuple[int, int]  # the creator's rank, and a counter


class Table:
    """The values that this worker owns, and their reference counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[Identity, Future] = {}
        self._counts: dict[Identity, int] = {}

    def __len__(self) -> int:
        return len(self._values)

    def future(self, identity: Identity) -> Future:
        """Of the value."""
        with self._lock:
            return self._values.setdefault(identity, Future())

    def count(self, identity: Identity, change: int) -> None:
        """Changes the count; the value is released with the last reference."""
        with self._lock:
            self._counts[identity] = self._counts.get(identity, 0) + change
            if self._counts[identity] == 0:
                self._values.pop(identity, None)
                del self._counts[identity]


class State:
    """This process's agent and table."""

    agent: Agent | None = None
    table = Table()
    numbers = itertools.count()
    timeout = DEFAULT_RPC_TIMEOUT_SEC


def agent() -> Agent:
    """This process's; RuntimeError before ``init_rpc``."""
    if State.agent is None:
        raise RuntimeError(
            "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."
        )
    return State.agent

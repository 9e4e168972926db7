"""A worker's agent: calls other workers, and runs their calls."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable
from typing import Any

from pellucid.distributed._stores.store import Store
from pellucid.distributed.rpc.incoming import Incoming
from pellucid.distributed.rpc.outgoing import Outgoing
from pellucid.distributed.rpc.workers import WorkerInfo, Workers
from pellucid.futures import Future


class Agent:
    """The agent; knows all workers by name after construction."""

    def __init__(
        self, name: str, rank: int, size: int, store: Store, threads: int, host: str
    ) -> None:
        self.own = WorkerInfo(name, rank)
        listener = socket.create_server((host, 0), backlog=size)
        port = listener.getsockname()[1]
        self._workers = Workers(self.own, size, store, host, port)
        self._outgoing = Outgoing(self._workers, threads)
        self._incoming = Incoming(self._workers, listener, threads)
        self._later: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run_later, daemon=True, name="rpc").start()

    @property
    def workers(self) -> list[WorkerInfo]:
        """All workers, by rank."""
        return self._workers.all

    def worker(self, to: Any) -> WorkerInfo:
        """The WorkerInfo of a name, a rank or a WorkerInfo."""
        return self._workers.find(to)

    def call(
        self, to: WorkerInfo, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> Future:
        """Calls ``function(*args, **kwargs)`` on a worker; returns a Future."""
        return self._outgoing.call(to, function, args, kwargs)

    def ask(
        self,
        to: WorkerInfo,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        seconds: float,
    ) -> Any:
        """Calls ``function(*args, **kwargs)`` on a worker and waits in this thread;
        TimeoutError after so many seconds (0: never).
        """
        return self._outgoing.ask(to, function, args, kwargs, seconds)

    def later(self, run: Callable[[], None]) -> None:
        """Runs a function on an agent's thread: for finalizers, which must not take
        locks, since the interrupted thread may hold them.
        """
        self._later.put(run)

    def _run_later(self) -> None:
        for run in iter(self._later.get, None):
            with contextlib.suppress(Exception):  # no one to report it to
                run()

    def settle(self) -> None:
        """Waits for the replies to all calls of this worker and its finalizers."""
        is_reached = threading.Event()
        self.later(is_reached.set)
        is_reached.wait()
        self._outgoing.wait_for_replies()

    def meet(self, name: str) -> None:
        """Waits for all workers; RuntimeError if one has ended."""
        self._workers.meet(name)

    def leave(self) -> None:
        """Waits until all workers leave."""
        self._workers.leave()

    def close(self) -> None:
        """Closes the connections and ends the threads."""
        self._later.put(None)
        self._outgoing.close()
        self._incoming.close()

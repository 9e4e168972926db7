"""Timers of the processes of a machine, which ask by a queue of ``multiprocessing``."""

from __future__ import annotations

import logging
import os
import queue
import signal
import time
from typing import Any

from pellucid.distributed.elastic.timer.api import (
    RequestQueue,
    TimerClient,
    TimerRequest,
    TimerServer,
    TimerTable,
)

__all__ = ["LocalTimerClient", "LocalTimerServer", "MultiprocessingRequestQueue"]

logger = logging.getLogger(__name__)


class LocalTimerClient(TimerClient):
    """Sends requests by a queue of ``multiprocessing``; the worker is its pid."""

    def __init__(self, mp_queue: Any) -> None:
        super().__init__()
        self._mp_queue = mp_queue

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        self._mp_queue.put(TimerRequest(os.getpid(), scope_id, expiration_time))

    def release(self, scope_id: str) -> None:
        self._mp_queue.put(TimerRequest(os.getpid(), scope_id, -1))


class MultiprocessingRequestQueue(RequestQueue):
    """The requests in a queue of ``multiprocessing``."""

    def __init__(self, mp_queue: Any) -> None:
        super().__init__()
        self._mp_queue = mp_queue

    def size(self) -> int:
        return int(self._mp_queue.qsize())

    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        found: list[TimerRequest] = []
        end = time.monotonic() + timeout
        while len(found) < size and (left := end - time.monotonic()) > 0:
            try:
                found.append(self._mp_queue.get(timeout=left))
            except queue.Empty:
                break
        return found


class LocalTimerServer(TimerServer):
    """Kills processes of this machine, which send by ``LocalTimerClient``.

    Example::

        queue = mp.get_context("spawn").Queue()
        server = LocalTimerServer(queue, max_interval=0.1)
        server.start()
    """

    def __init__(
        self, mp_queue: Any, max_interval: float = 60, daemon: bool = True
    ) -> None:
        super().__init__(MultiprocessingRequestQueue(mp_queue), max_interval, daemon)
        self._table: TimerTable[TimerRequest] = TimerTable()

    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        self._table.register(timer_requests)

    def clear_timers(self, worker_ids: set[int]) -> None:
        self._table.clear(worker_ids)

    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        return self._table.expired(deadline)

    def _reap_worker(self, worker_id: int) -> bool:
        return end_process(worker_id, signal.SIGKILL)


def end_process(pid: int, number: int) -> bool:
    """Sends a process a signal; whether it ends, or has ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        logger.exception("pid %s cannot be ended", pid)
        return False
    return True

"""Timers: what processes ask, and who ends those whose time is over.

A process says by ``expires`` until when a block must have ended; a server in the
process that started it kills it otherwise. Read next: ``local_timer.py``,
``file_based_local_timer.py``.
"""

from __future__ import annotations

import abc
import logging
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

__all__ = [
    "RequestQueue",
    "TimerClient",
    "TimerRequest",
    "TimerServer",
    "configure",
    "expires",
]

logger = logging.getLogger(__name__)


class TimerRequest:
    """Until when a block of a worker must have ended; negative: it has."""

    __slots__ = ("expiration_time", "scope_id", "worker_id")

    def __init__(self, worker_id: Any, scope_id: str, expiration_time: float) -> None:
        self.worker_id, self.scope_id = worker_id, scope_id
        self.expiration_time = expiration_time

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimerRequest) and (
            (self.worker_id, self.scope_id, self.expiration_time)
            == (other.worker_id, other.scope_id, other.expiration_time)
        )

    __hash__ = None  # type: ignore[assignment]


class TimerClient(abc.ABC):
    """Sends the requests of a worker."""

    @abc.abstractmethod
    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Says until when a block must have ended."""

    @abc.abstractmethod
    def release(self, scope_id: str) -> None:
        """Says that a block has ended."""


class RequestQueue(abc.ABC):
    """The requests that a server receives."""

    @abc.abstractmethod
    def size(self) -> int:
        """How many requests there are at least."""

    @abc.abstractmethod
    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        """At most ``size`` requests, waiting at most ``timeout`` seconds."""


class TimerServer(abc.ABC):
    """Ends workers whose timers have expired, on a thread."""

    def __init__(
        self, request_queue: RequestQueue, max_interval: float, daemon: bool = True
    ) -> None:
        self._request_queue = request_queue
        self._max_interval, self._daemon = max_interval, daemon
        self._watchdog_thread: threading.Thread | None = None
        self._stop_signaled = False

    @abc.abstractmethod
    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        """Adds timers, and removes those of negative times."""

    @abc.abstractmethod
    def clear_timers(self, worker_ids: set[Any]) -> None:
        """Removes all timers of workers."""

    @abc.abstractmethod
    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        """The timers that have expired by then, by worker."""

    @abc.abstractmethod
    def _reap_worker(self, worker_id: Any) -> bool:
        """Ends a worker; whether it has ended."""

    def _reap_worker_no_throw(self, worker_id: Any) -> bool:
        """Ends a worker, which has ended if that raises."""
        try:
            return self._reap_worker(worker_id)
        except Exception:
            logger.exception("ending worker %s failed", worker_id)
            return True

    def _watchdog_loop(self) -> None:
        while not self._stop_signaled:
            try:
                self._run_watchdog()
            except Exception:
                logger.exception("the timers could not be examined")

    def _run_watchdog(self) -> None:
        count = max(1, self._request_queue.size())
        self.register_timers(self._request_queue.get(count, self._max_interval))
        ended = set()
        for worker, expired in self.get_expired_timers(time.time()).items():
            scopes = [request.scope_id for request in expired]
            logger.info("ending worker %s: %s took too long", worker, scopes)
            if self._reap_worker_no_throw(worker):
                ended.add(worker)
        self.clear_timers(ended)

    def start(self) -> None:
        """Starts the thread."""
        self._watchdog_thread = threading.Thread(
            target=self._watchdog_loop, daemon=self._daemon
        )
        self._watchdog_thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stop_signaled = True
        if self._watchdog_thread is not None:
            self._watchdog_thread.join(self._max_interval)
            self._watchdog_thread = None


Request = TypeVar("Request", bound=TimerRequest)


class TimerTable(Generic[Request]):
    """The timers of a server, by worker and scope."""

    def __init__(self) -> None:
        self._timers: dict[tuple[Any, str], Request] = {}

    def register(self, requests: Iterable[Request]) -> None:
        """Adds timers, and removes those of negative times."""
        for request in requests:
            key = request.worker_id, request.scope_id
            if request.expiration_time < 0:
                self._timers.pop(key, None)
            else:
                self._timers[key] = request

    def clear(self, worker_ids: set[Any]) -> None:
        """Removes all timers of workers."""
        for key in [key for key in self._timers if key[0] in worker_ids]:
            del self._timers[key]

    def workers(self) -> set[Any]:
        """The workers that have timers."""
        return {worker for worker, _ in self._timers}

    def expired(self, deadline: float) -> dict[Any, list[Request]]:
        """The timers that have expired by then, by worker; the earliest first."""
        found: dict[Any, list[Request]] = {}
        for request in sorted(self._timers.values(), key=lambda r: r.expiration_time):
            if request.expiration_time <= deadline:
                found.setdefault(request.worker_id, []).append(request)
        return found


_configured: list[TimerClient] = []


def configure(timer_client: TimerClient) -> None:
    """Sets the client of ``expires`` in this process."""
    _configured[:] = [timer_client]


@contextmanager
def expires(
    after: float, scope: str | None = None, client: TimerClient | None = None
) -> Iterator[None]:
    """A block after whose ``after`` seconds the process may be killed.

    Example::

        with expires(after=60):
            dist.all_reduce(tensor)
    """
    if client is None:
        if not _configured:
            raise RuntimeError("no client of timers: call timer.configure() first")
        client = _configured[0]
    if scope is None:
        caller = sys._getframe(2)
        scope = f"{caller.f_code.co_filename}#{caller.f_lineno}"
    client.acquire(scope, time.time() + after)
    try:
        yield
    finally:
        client.release(scope)

"""Timers of the processes of a machine, which ask by lines of JSON in a named pipe:
also processes that share no queue with the server, such as commands.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal as signals
import threading
import time
from collections.abc import Callable

from pellucid.distributed.elastic.timer.api import (
    TimerClient,
    TimerRequest,
    TimerTable,
)
from pellucid.distributed.elastic.timer.debug_info_logging import (
    log_debug_info_for_expired_timers,
)
from pellucid.distributed.elastic.timer.local_timer import end_process

__all__ = ["FileTimerClient", "FileTimerRequest", "FileTimerServer"]

logger = logging.getLogger(__name__)

_ATTEMPTS, _PAUSE = 10, 0.1  # to open the pipe, which the server may not yet read


class FileTimerRequest(TimerRequest):
    """A ``TimerRequest`` of a process; ``signal`` ends it, 0 does not."""

    __slots__ = ("signal", "version")

    def __init__(
        self, worker_pid: int, scope_id: str, expiration_time: float, signal: int = 0
    ) -> None:
        super().__init__(worker_pid, scope_id, expiration_time)
        self.version, self.signal = 1, signal

    @property
    def worker_pid(self) -> int:
        """The process."""
        return int(self.worker_id)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FileTimerRequest)
            and super().__eq__(other)
            and (self.version, self.signal) == (other.version, other.signal)
        )

    __hash__ = None

    def to_json(self) -> str:
        """The request as a line of the pipe."""
        return json.dumps(
            {
                "version": self.version,
                "pid": self.worker_pid,
                "scope_id": self.scope_id,
                "expiration_time": self.expiration_time,
                "signal": int(self.signal),
            }
        )

    @staticmethod
    def from_json(line: str) -> FileTimerRequest:
        """The request of a line."""
        found = json.loads(line)
        names = "pid", "scope_id", "expiration_time", "signal"
        return FileTimerRequest(*(found[name] for name in names))


class FileTimerClient(TimerClient):
    """Sends requests to the ``FileTimerServer`` of the pipe ``file_path``; after its
    time the process receives ``signal``, or none if that is 0.
    """

    def __init__(self, file_path: str, signal: int = signals.SIGKILL) -> None:
        super().__init__()
        self._file_path, self.signal = file_path, signal

    def _open(self) -> int:
        for attempt in range(_ATTEMPTS):
            try:
                return os.open(self._file_path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if attempt == _ATTEMPTS - 1:
                    raise BrokenPipeError(
                        f"no FileTimerServer reads the pipe {self._file_path}"
                    ) from error
                time.sleep(_PAUSE)
        raise AssertionError("unreachable")

    def _send(self, request: FileTimerRequest) -> None:
        line = request.to_json().encode() + b"\n"
        if len(line) > select.PIPE_BUF:
            raise RuntimeError(
                f"a request has at most {select.PIPE_BUF} bytes, which a pipe takes at "
                f"once; this has {len(line)}: {line.decode():.100}"
            )
        pipe = self._open()
        try:
            os.write(pipe, line)  # at once, so that lines of processes do not mix
        finally:
            os.close(pipe)

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        self._send(
            FileTimerRequest(os.getpid(), scope_id, expiration_time, self.signal)
        )

    def release(self, scope_id: str) -> None:
        self._send(FileTimerRequest(os.getpid(), scope_id, -1, 0))


class FileTimerServer:
    """Makes the pipe ``file_path`` and ends, on a thread, the processes whose timers
    have expired, and then its own process, by the same signal: the job has failed.
    ``log_event`` is called with the name of an event and the request that it is about.
    """

    def __init__(
        self,
        file_path: str,
        run_id: str,
        max_interval: float = 10,
        daemon: bool = True,
        log_event: Callable[[str, FileTimerRequest | None], None] | None = None,
    ) -> None:
        self._file_path, self._run_id = file_path, run_id
        self._max_interval, self._daemon = max_interval, daemon
        self._log_event = log_event or (lambda name, request: None)
        self._table: TimerTable[FileTimerRequest] = TimerTable()
        self._watchdog_thread: threading.Thread | None = None
        self._stop_signaled = self._run_once = self._is_client_started = False
        self._last_progress_time = int(time.time())
        self._unread = b""  # of the pipe
        with contextlib.suppress(FileNotFoundError):
            os.remove(file_path)
        os.mkfifo(file_path)

    def start(self) -> None:
        """Starts the thread; clients may send from now on."""
        # Also for writing, so that neither opening nor reading waits for a client.
        pipe = os.open(self._file_path, os.O_RDWR | os.O_NONBLOCK)
        self._watchdog_thread = threading.Thread(
            target=self._watchdog_loop, args=(pipe,), daemon=self._daemon
        )
        self._watchdog_thread.start()
        self._log_event("watchdog started", None)

    def stop(self) -> None:
        """Ends the thread, and removes the pipe."""
        self._stop_signaled = True
        self._join(self._max_interval)
        self._log_event("watchdog stopped", None)

    def run_once(self) -> None:
        """Reads what has been sent, ends the thread, and removes the pipe."""
        self._run_once = True
        self._join(None)

    def _join(self, timeout: float | None) -> None:
        if self._watchdog_thread is not None:
            self._watchdog_thread.join(timeout)
            self._watchdog_thread = None
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._file_path)

    @staticmethod
    def is_process_running(pid: int) -> bool:
        """Whether there is such a process that may be ended."""
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True

    def _watchdog_loop(self, pipe: int) -> None:
        try:
            while not self._stop_signaled:
                is_last = self._run_once
                try:
                    self._run_watchdog(pipe)
                except Exception:
                    logger.exception("the timers could not be examined")
                if is_last:
                    return
                self._last_progress_time = int(time.time())
        finally:
            os.close(pipe)

    def _run_watchdog(self, pipe: int) -> None:
        self.register_timers(self._get_requests(pipe, self._max_interval))
        expired = self.get_expired_timers(time.time())
        shown = {pid: [r.to_json() for r in each] for pid, each in expired.items()}
        log_debug_info_for_expired_timers(self._run_id, shown)
        fatal = 0
        for pid, requests in expired.items():
            for request in requests:
                self._log_event("timer expired", request)
            signal = next((r for r in requests if r.signal > 0), None)
            if signal is not None and self._reap_worker(pid, signal.signal):
                self._log_event("kill worker process", signal)
                fatal = signal.signal
        if fatal:
            self._reap_worker(os.getpid(), fatal)
        self.clear_timers(set(expired))

    def _next_line(self, pipe: int) -> str:
        """The next line that a client has sent, else an empty one."""
        if b"\n" not in self._unread:
            with contextlib.suppress(BlockingIOError):
                self._unread += os.read(pipe, 16 * select.PIPE_BUF)
        line, end, rest = self._unread.partition(b"\n")
        if not end:
            return ""
        self._unread, self._is_client_started = rest, True
        return line.decode()

    def _get_requests(self, pipe: int, max_interval: float) -> list[FileTimerRequest]:
        end, found = time.monotonic() + max_interval, []
        while not self._stop_signaled and time.monotonic() < end:
            if line := self._next_line(pipe):
                found.append(FileTimerRequest.from_json(line))
            elif self._run_once or found:
                break
            else:
                time.sleep(min(max_interval, 0.1))
        return found

    def register_timers(self, timer_requests: list[FileTimerRequest]) -> None:
        """Adds timers, and removes those of negative times."""
        self._table.register(timer_requests)

    def clear_timers(self, worker_pids: set[int]) -> None:
        """Removes the timers of processes, and of those that have ended."""
        ended = {p for p in self._table.workers() if not self.is_process_running(p)}
        self._table.clear(worker_pids | ended)

    def get_expired_timers(self, deadline: float) -> dict[int, list[FileTimerRequest]]:
        """The timers that have expired by then, by process."""
        return self._table.expired(deadline)

    def _reap_worker(self, worker_pid: int, signal: int) -> bool:
        return end_process(worker_pid, signal)

    def get_last_progress_time(self) -> int:
        """When the thread last examined the timers, in seconds; now, before the first
        client.
        """
        return self._last_progress_time if self._is_client_started else int(time.time())

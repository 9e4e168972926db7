"""``spawn``: a function in several processes, and the errors that come back."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "spawn",
    "start_processes",
]


class ProcessRaisedException(Exception):
    """The function of a process has raised; the message has its traceback."""

    def __init__(self, message: str, error_index: int, error_pid: int | None) -> None:
        super().__init__(message)
        self.error_index, self.error_pid = error_index, error_pid


class ProcessExitedException(Exception):
    """A process has ended with another code than 0."""

    def __init__(self, error_index: int, error_pid: int | None, exit_code: int) -> None:
        super().__init__(f"process {error_index} ended with code {exit_code}")
        self.error_index, self.error_pid = error_index, error_pid
        self.exit_code = exit_code


class ProcessContext:
    """Processes that run one function."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors

    def pids(self) -> list[int]:
        """The processes' numbers."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait for all; whether all have ended. The first failure ends the others and
        is raised.
        """
        from multiprocessing.connection import wait

        running = [p for p in self.processes if p.exitcode is None]
        while running and all(p.exitcode in (0, None) for p in self.processes):
            ready = wait([p.sentinel for p in running], timeout)
            running = [p for p in running if p.is_alive()]
            if not ready:
                return False
        for index, process in enumerate(self.processes):
            process.join(0)
            if process.exitcode not in (0, None):
                self._raise(index, process)
        return all(p.exitcode == 0 for p in self.processes)

    def _raise(self, index: int, process: Any) -> None:
        for other in self.processes:
            if other.is_alive():
                other.terminate()
            other.join()
        if not self._errors[index].empty():
            text = self._errors[index].get()
            raise ProcessRaisedException(
                f"process {index} has raised:\n{text}", index, process.pid
            )
        raise ProcessExitedException(index, process.pid, process.exitcode)


def _run(function: Callable[..., Any], index: int, args: Any, errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        import sys
        import traceback

        errors.put(traceback.format_exc())
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in ``nprocs`` processes; wait for them, or return the
    context to wait with.
    """
    context: Any = multiprocessing.get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [
        context.Process(target=_run, args=(fn, i, args, errors[i]), daemon=daemon)
        for i in range(nprocs)
    ]
    for process in processes:
        process.start()
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """``start_processes`` in fresh interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)

"""``spawn``: a function in several processes, and the errors that come back."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any

from pellucid._package.calls.deprecation import advise

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
"""When this is "1", processes of a forkserver start in parallel."""

_PATIENCE = 30.0
"""Seconds that processes have to end after SIGTERM, before SIGKILL."""

_LONGEST = 16_000
"""Characters of a traceback that are sent: a pipe takes them without a reader."""


class ProcessException(Exception):
    """A process has failed: ``msg``, its index and its number."""

    __slots__ = ("error_index", "error_pid")

    def __init__(self, msg: str, error_index: int, error_pid: int | None) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index, self.error_pid = error_index, error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function of a process has raised; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process has ended by a signal, or with another code than 0."""

    __slots__ = ("exit_code", "signal_name")

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int | None,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        facts = self.msg, self.error_index, self.error_pid
        return type(self), (*facts, self.exit_code, self.signal_name)


class ProcessContext:
    """Processes that run one function."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors
        self.sentinels = {p.sentinel: index for index, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """The processes' numbers."""
        return [int(process.pid) for process in self.processes]

    def join(
        self, timeout: float | None = None, grace_period: float | None = None
    ) -> bool:
        """Waits until some have ended; whether all have. The first failure is raised,
        after the others have had ``grace_period`` seconds to end by themselves and were
        then terminated.
        """
        from multiprocessing.connection import wait

        if not self.sentinels:
            return True
        for sentinel in wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode:
                self._end_all(grace_period)
                raise self._failure(index)
        return not self.sentinels

    def _join_all(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._join_all(grace_period)
        for stop in ("terminate", "kill"):
            for process in self.processes:
                if process.is_alive():
                    getattr(process, stop)()
            self._join_all(_PATIENCE if grace_period is None else grace_period)
        for process in self.processes:
            process.join()

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        if not self._errors[index].empty():
            text = self._errors[index].get()
            message = f"\n\n-- Process {index} terminated with the following error:\n"
            return ProcessRaisedException(message + text, index, process.pid)
        code = process.exitcode
        if code >= 0:
            message = f"process {index} terminated with exit code {code}"
            return ProcessExitedException(message, index, process.pid, code)
        name = _signal_name(-code)
        message = f"process {index} terminated with signal {name}"
        return ProcessExitedException(message, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The former name of ``ProcessContext``."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        advise("SpawnContext is called ProcessContext now")
        super().__init__(processes, errors)


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"<Unknown signal {number}>"


def _run(function: Callable[..., Any], index: int, args: Any, errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        import sys
        import traceback

        # More would wait for a reader, and there is none until this process has ended.
        errors.put(traceback.format_exc()[-_LONGEST:])
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs ``fn(i, *args)`` in ``nprocs`` processes; waits for them, or returns the
    context to wait with.
    """
    context: Any = multiprocessing.get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [
        context.Process(target=_run, args=(fn, i, args, errors[i]), daemon=daemon)
        for i in range(nprocs)
    ]
    is_parallel = os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1"
    if start_method == "forkserver" and is_parallel:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(nprocs) as executor:
            list(executor.map(lambda process: process.start(), processes))
    else:
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
    if start_method != "spawn":
        advise(
            f"spawn() starts fresh interpreters, not by {start_method!r}: "
            "start_processes(start_method=...) does",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon, "spawn")

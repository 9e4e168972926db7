"""``PContext``: processes that are started, watched and ended together.

``SubprocessContext`` starts commands, ``MultiprocessContext`` functions. The launcher's
agent runs its ranks by them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.distributed.elastic.multiprocessing._logs import (
    DefaultLogsSpecs,
    LogsDest,
    LogsSpecs,
    Std,
    to_map,
)
from pellucid.distributed.elastic.multiprocessing.errors import ProcessFailure, record
from pellucid.distributed.elastic.multiprocessing.redirects import (
    redirect_stderr,
    redirect_stdout,
)
from pellucid.distributed.elastic.multiprocessing.subprocess_handler import (
    SubprocessHandler,
    get_subprocess_handler,
)
from pellucid.distributed.elastic.multiprocessing.subprocess_handler._sessions import (
    die_with_parent,
    end_session,
)
from pellucid.distributed.elastic.multiprocessing.tail_log import TailLog
from pellucid.numa.binding import bind_this_process, cpus_to_bind_to

__all__ = [
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
    "get_std_cm",
    "to_map",
]

_REPORTING = 5.0
"""Seconds in which a process that has written its error ends."""


class SignalException(Exception):
    """This process received a signal to end."""

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


@dataclass
class RunProcsResult:
    """How processes have ended: what functions returned, or failures, by local rank."""

    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether a process has failed."""
        return bool(self.failures)


def get_std_cm(std_rd: str, redirect_fn: Callable[[str], Any]) -> Any:
    """The context that redirects a stream to a path, if there is one."""
    return redirect_fn(std_rd) if std_rd else contextlib.nullcontext()


class PContext(ABC):
    """Processes by local rank, with arguments and environments."""

    def __init__(
        self,
        name: str,
        entrypoint: Callable[..., Any] | str,
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ) -> None:
        for what, given in (("args", args), ("envs", envs)):
            if set(given) != set(range(len(envs))):
                raise RuntimeError(
                    f"{what} are given for the local ranks {sorted(given)}; expected "
                    f"{list(range(len(envs)))}"
                )
        self.name, self.entrypoint, self.args, self.envs = name, entrypoint, args, envs
        self.nprocs = len(envs)
        self._logs: LogsDest = logs_specs.reify(envs)
        self.error_files = self._logs.error_files
        self._prefixes = log_line_prefixes
        self._filters = duplicate_stdout_filters, duplicate_stderr_filters
        self._tails: list[TailLog] = []
        self._ended: RunProcsResult | None = None
        self._ended_sessions: set[int] = (
            set()
        )  # local ranks; others may have their pids
        self._filtered = contextlib.ExitStack()

    def start(self) -> None:
        """Starts all processes, and the copies of their output."""
        self._start()
        logs = self._logs
        self._tee(logs.tee_stdouts, sys.stdout)
        self._tee(logs.tee_stderrs, sys.stderr)
        self._copy_filtered(logs.stdouts, logs.filtered_stdout, self._filters[0])
        self._copy_filtered(logs.stderrs, logs.filtered_stderr, self._filters[1])

    def _tee(self, files: dict[int, str], target: Any, chosen: Any = None) -> None:
        tail = TailLog(self.name, files, target, self._prefixes, log_line_filter=chosen)
        self._tails.append(tail.start())

    def _copy_filtered(
        self, files: dict[int, str], path: str, texts: list[str] | None
    ) -> None:
        if texts and path:
            written = {rank: file for rank, file in files.items() if file}
            target = self._filtered.enter_context(open(path, "w"))  # noqa: SIM115
            self._tee(written, target, lambda line: any(text in line for text in texts))

    @abstractmethod
    def _start(self) -> None:
        """Starts the processes."""

    @abstractmethod
    def _reap(self, local_rank: int, timeout: float) -> int | None:
        """The exit code; None if the process still runs after ``timeout`` seconds."""

    def _exit_code(self, local_rank: int, timeout: float = 0.0) -> int | None:
        """``_reap``; with a process its session ends, before the pid is used again."""
        code = self._reap(local_rank, timeout)
        if code is not None and local_rank not in self._ended_sessions:
            self._ended_sessions.add(local_rank)
            end_session(self.pids()[local_rank])
        return code

    @abstractmethod
    def pids(self) -> dict[int, int]:
        """Process ids by local rank."""

    def _return_values(self) -> dict[int, Any]:
        return dict.fromkeys(range(self.nprocs))

    def _poll(self) -> RunProcsResult | None:
        """None while processes run and none has failed."""
        codes = [self._exit_code(rank) for rank in range(self.nprocs)]
        if any(codes):
            return self._result(failures=self._failures())
        if None in codes:
            return None
        return self._result(return_values=self._return_values())

    def _result(self, **facts: Any) -> RunProcsResult:
        logs = self._logs
        return RunProcsResult(stdouts=logs.stdouts, stderrs=logs.stderrs, **facts)

    def _failures(self) -> dict[int, ProcessFailure]:
        """By local rank, in order of time. A process that has written its error has
        failed, also if it has not ended.
        """
        found, pids = {}, self.pids()
        for rank, file in self.error_files.items():
            patience = _REPORTING if os.path.exists(file) else 0.0
            code = self._exit_code(rank, patience)
            if code:
                found[rank] = ProcessFailure(rank, pids[rank], code, file)
        return dict(sorted(found.items(), key=lambda pair: pair[1].timestamp))

    def wait(self, timeout: float = -1, period: float = 1) -> RunProcsResult | None:
        """Waits until all have succeeded or one has failed, and ends the others; None
        after ``timeout`` seconds, or at once for 0.
        """
        end = float("inf") if timeout < 0 else time.monotonic() + timeout
        while self._ended is None and (result := self._poll()) is None:
            left = end - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(period, left))
        if self._ended is None:
            self._ended = result
            self.close()
        return self._ended

    def close(self, death_sig: signal.Signals | None = None, timeout: int = 30) -> None:
        """Sends ``death_sig`` (SIGTERM), then SIGKILL after ``timeout`` seconds."""
        self._close(death_sig or signal.SIGTERM, timeout)
        for tail in self._tails:
            tail.stop()
        self._filtered.close()

    def _close(self, death_sig: signal.Signals, timeout: int = 30) -> None:
        running = [r for r in self.pids() if self._exit_code(r) is None]
        for rank in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pids()[rank], death_sig)
        end = time.monotonic() + timeout
        for rank in running:
            self._exit_code(rank, max(0.0, end - time.monotonic()))
        for rank in running:
            if rank not in self._ended_sessions:
                end_session(self.pids()[rank])
                self._exit_code(rank, _REPORTING)


class SubprocessContext(PContext):
    """Processes that run a command."""

    def __init__(
        self,
        name: str,
        entrypoint: str,
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        numa_options: Any = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ) -> None:
        super().__init__(
            *(name, entrypoint, args, envs, logs_specs, log_line_prefixes),
            *(duplicate_stdout_filters, duplicate_stderr_filters),
        )
        self._numa_options = numa_options
        self.subprocess_handlers: dict[int, SubprocessHandler] = {}

    def _start(self) -> None:
        for rank in range(self.nprocs):
            self.subprocess_handlers[rank] = get_subprocess_handler(
                str(self.entrypoint),
                self.args[rank],
                {**self.envs[rank], "TORCHELASTIC_ERROR_FILE": self.error_files[rank]},
                self._logs.stdouts[rank],
                self._logs.stderrs[rank],
                rank,
                self._numa_options,
            )

    def pids(self) -> dict[int, int]:
        """Process ids by local rank."""
        return {r: each.proc.pid for r, each in self.subprocess_handlers.items()}

    def _reap(self, local_rank: int, timeout: float) -> int | None:
        import subprocess

        process = self.subprocess_handlers[local_rank].proc
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout) if timeout else process.poll()
        return None


def _run_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    env: dict[str, str],
    paths: tuple[str, str],
    results: Any,
    cpus: set[int] | None,
) -> None:
    """In the child: runs the function of a rank and sends what it returns."""
    os.setsid()
    die_with_parent()
    bind_this_process(cpus)
    os.environ.update(env)
    out, err = paths
    with get_std_cm(out, redirect_stdout), get_std_cm(err, redirect_stderr):
        results.send(record(function)(*args))
        results.close()


class MultiprocessContext(PContext):
    """Processes that run a function."""

    def __init__(
        self,
        name: str,
        entrypoint: Callable[..., Any],
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        start_method: str,
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        numa_options: Any = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ) -> None:
        super().__init__(
            *(name, entrypoint, args, envs, logs_specs, log_line_prefixes),
            *(duplicate_stdout_filters, duplicate_stderr_filters),
        )
        self._numa_options = numa_options
        self.start_method = start_method
        self._processes: dict[int, Any] = {}
        self._pipes: dict[int, Any] = {}
        self._results: dict[int, Any] = {}

    def _start(self) -> None:
        context: Any = multiprocessing.get_context(self.start_method)
        for rank in range(self.nprocs):
            env = {
                **self.envs[rank],
                "TORCHELASTIC_ERROR_FILE": self.error_files[rank],
            }
            paths = self._logs.stdouts[rank], self._logs.stderrs[rank]
            self._pipes[rank], results = context.Pipe(duplex=False)
            cpus = cpus_to_bind_to(rank, self._numa_options)
            arguments = (self.entrypoint, self.args[rank], env, paths, results, cpus)
            process = context.Process(target=_run_function, args=arguments)
            process.start()
            results.close()
            self._processes[rank] = process

    def pids(self) -> dict[int, int]:
        """Process ids by local rank."""
        return {rank: process.pid for rank, process in self._processes.items()}

    def _take_result(self, local_rank: int) -> None:
        """Reads what the function has returned: a large value keeps it from ending."""
        pipe = self._pipes[local_rank]
        with contextlib.suppress(EOFError):
            if local_rank not in self._results and pipe.poll():
                self._results[local_rank] = pipe.recv()

    def _reap(self, local_rank: int, timeout: float) -> int | None:
        self._take_result(local_rank)
        process = self._processes[local_rank]
        process.join(timeout)
        return process.exitcode  # type: ignore[no-any-return]

    def _return_values(self) -> dict[int, Any]:
        for rank in range(self.nprocs):
            self._take_result(rank)
        return {rank: self._results.get(rank) for rank in range(self.nprocs)}

"""``record``: the traceback of a rank, for the launcher's report; and that report."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pellucid.distributed.elastic.multiprocessing.errors.error_handler import (
    ErrorHandler,
)
from pellucid.distributed.elastic.multiprocessing.errors.handlers import (
    get_error_handler,
)

__all__ = [
    "ChildFailedError",
    "ErrorHandler",
    "ProcessFailure",
    "get_error_handler",
    "record",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_NOT_AVAILABLE = "<N/A>"


@dataclass
class ProcessFailure:
    """How a process failed: its exit code, and what its error file says if there is
    one.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: Any = field(init=False)  # a text, or a dict with the traceback
    timestamp: float = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data, self.message = {"message": "<NONE>"}, ""
        self.timestamp = time.time()
        try:
            with open(self.error_file) as file:
                self.timestamp = os.fstat(file.fileno()).st_mtime
                self._take(json.load(file))
        except (OSError, ValueError):  # none, or its writer was killed
            self.error_file = _NOT_AVAILABLE
        if not self.message and self.exitcode < 0:
            self.message = (
                f"Signal {-self.exitcode} ({self.signal_name()}) received by PID "
                f"{self.pid}"
            )
        elif not self.message:
            self.message = (
                "no traceback: decorate main with "
                "torch.distributed.elastic.multiprocessing.errors.record"
            )

    def _take(self, data: Any) -> None:
        """Takes the contents of an error file, of which a handler of the user's may
        write any part.
        """
        if not isinstance(data, dict):
            raise ValueError("an error file has a dict")
        self.error_file_data, self.message = data, data.get("message", "")
        notes = _extra_info(self.message) if isinstance(self.message, dict) else data
        with contextlib.suppress(KeyError, TypeError, ValueError):
            timestamp = float(notes["timestamp"])
            if math.isfinite(timestamp):
                self.timestamp = timestamp

    def signal_name(self) -> str:
        """Such as "SIGKILL"; "<N/A>" for an exit."""
        if self.exitcode >= 0:
            return _NOT_AVAILABLE
        return signal.Signals(-self.exitcode).name

    def timestamp_isoformat(self) -> str:
        """When it failed, such as "2026-01-31_12:00:00"."""
        return datetime.fromtimestamp(int(self.timestamp)).isoformat(sep="_")

    def how(self) -> str:
        """Such as "killed by SIGKILL"."""
        if self.exitcode < 0:
            return f"killed by {self.signal_name()}"
        return f"with exit code {self.exitcode}"

    def text(self) -> str:
        """The traceback if there is one, else the message."""
        if not isinstance(self.message, dict):
            return str(self.message)
        message = self.message.get("message", self.message)
        return str(_extra_info(self.message).get("py_callstack", message))


def _extra_info(message: dict[str, Any]) -> dict[str, Any]:
    notes = message.get("extraInfo")
    return notes if isinstance(notes, dict) else {}


class ChildFailedError(Exception):
    """Raised if ranks have failed; ``failures`` by rank."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        if not failures:
            raise AssertionError("there is no failure to report")
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that failed first, and how."""
        return min(self.failures.items(), key=lambda pair: pair[1].timestamp)

    def format_msg(self) -> str:
        """The first failure with its traceback, and the others in a line each."""
        rank, first = self.get_first_failure()
        lines = [
            f"{self.name} FAILED: rank {rank} (local rank {first.local_rank}, pid "
            f"{first.pid}) has ended first, {first.how()}",
            first.text(),
        ]
        others = [each for each in self.failures.items() if each[0] != rank]
        for other, failure in others[:5]:
            lines.append(f"rank {other} (pid {failure.pid}) has ended, {failure.how()}")
        return "\n".join(lines)


def record(fn: _F, error_handler: ErrorHandler | None = None) -> _F:
    """Decorates a program's main function: its exceptions are added to the launcher's
    report by ``error_handler``, and re-raised.
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as exit:
            if exit.code == 0:
                return None
            handler.record_exception(exit)
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if failure.error_file != _NOT_AVAILABLE:
                handler.dump_error_file(failure.error_file, failure.exitcode)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return run  # type: ignore[return-value]

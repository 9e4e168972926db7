"""``record``: the traceback of a rank, for the launcher's report."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "record"]

_F = TypeVar("_F", bound=Callable[..., Any])


class ChildFailedError(Exception):
    """Raised if ranks have failed; ``failures`` by rank, in order of time."""

    def __init__(self, name: str, failures: dict[int, Any]) -> None:
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, Any]:
        """Its rank, and how."""
        return next(iter(self.failures.items()))

    def format_msg(self) -> str:
        """The first failure with its traceback, and the others in a line each."""
        rank, first = self.get_first_failure()
        lines = [
            f"{self.name} FAILED: rank {rank} (local rank {first.local_rank}, pid "
            f"{first.pid}) has ended first, {first.how()}",
            first.message
            or "no traceback: decorate main with "
            "torch.distributed.elastic.multiprocessing.errors.record",
        ]
        for other, failure in list(self.failures.items())[1:6]:
            lines.append(f"rank {other} (pid {failure.pid}) has ended, {failure.how()}")
        return "\n".join(lines)


def record(fn: _F, error_handler: Any = None) -> _F:
    """Decorates a program's main function: its exceptions are added to the launcher's
    report and re-raised.
    """

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except SystemExit as exit:
            if exit.code:
                _write(exit)
            raise
        except Exception as error:
            _write(error)
            raise

    return run  # type: ignore[return-value]


def _write(error: BaseException) -> None:
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    text = {
        "message": {
            "message": f"{type(error).__name__}: {error}",
            "extraInfo": {
                "py_callstack": "".join(traceback.format_exception(error)),
                "timestamp": str(time.time()),
            },
        }
    }
    with open(path, "w") as file:
        json.dump(text, file)

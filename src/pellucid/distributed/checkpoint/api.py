"""``CheckpointException``: what went wrong on each rank of a save or load."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

__all__ = ["CheckpointException"]

WRAPPED_EXCEPTION = tuple[BaseException, traceback.StackSummary]


def _wrap_exception(exc: BaseException) -> WRAPPED_EXCEPTION:
    """An error and its stack, as other ranks can unpickle them."""
    stack = traceback.extract_tb(exc.__traceback__)
    for frame in stack:
        if hasattr(frame, "_code"):  # of Python 3.13 on: it cannot be pickled
            object.__setattr__(frame, "_code", None)
    try:
        pickle.loads(pickle.dumps(exc))
    except Exception:
        exc = RuntimeError(f"{type(exc).__name__}: {exc}")
    return exc, stack


def _is_wrapped_exception(obj: Any) -> bool:
    return (
        isinstance(obj, tuple)
        and len(obj) == 2
        and isinstance(obj[0], BaseException)
        and isinstance(obj[1], traceback.StackSummary)
    )


class CheckpointException(BaseException):
    """Raised on all ranks if a step of a save or load failed on any of them."""

    def __init__(self, msg: str, failures: dict[int, WRAPPED_EXCEPTION]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, WRAPPED_EXCEPTION]:
        """The errors and their stacks, by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, stack) in self._failures.items():
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n")
            lines += traceback.format_list(stack or [])
            lines += traceback.format_exception_only(type(error), error)
        return "".join(lines)

"""Queues for Python backends with streams.

A :class:`Queue` is a thread that runs tasks in order; a :class:`Mark` is a point in it.
A task's exception is stored and raised where the program waits; later tasks run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import NamedTuple

from pellucid_compiler.abi.limits import STATUS_SHIFT
from pellucid_compiler.abi.status import OUT_OF_BOUNDS, ZERO_DIVISION
from pellucid_compiler.devices.launch import KernelFailed, Launch

Task = Callable[[], None]


class Mark:
    """A point in a queue, passed when all tasks before it have run."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.seconds = 0.0

    def set(self) -> None:
        self.seconds = time.perf_counter()
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self) -> None:
        self._event.wait()


class Failure(NamedTuple):
    """What went wrong in a task, and the launch that it was of."""

    error: Exception
    launch: Launch | None
    device: str

    def as_error(self) -> Exception:
        """What the program gets: the type that the CPU's error has."""
        if self.launch is None:
            return self.error
        what = f"{self.launch.op} on {self.device}, its kernel ({self.launch.form})"
        advice = (
            "It was started earlier than here; PELLUCID_LAUNCH_BLOCKING=1 raises where."
        )
        if not isinstance(self.error, KernelFailed):
            return RuntimeError(
                f"{what}: {type(self.error).__name__}: {self.error}\n{advice}"
            )
        return _failed_kernel(self.error, what, advice)


def _failed_kernel(error: KernelFailed, what: str, advice: str) -> Exception:
    code, element = divmod(error.status, 1 << STATUS_SHIFT)
    if code == OUT_OF_BOUNDS:
        why = error.__cause__ or "index out of bounds"
        return IndexError(f"{what}, element {element}: {why}\n{advice}")
    if code == ZERO_DIVISION:
        return RuntimeError(
            f"ZeroDivisionError: {what} divided an integer by zero\n{advice}"
        )
    return RuntimeError(f"{what} failed with status {error.status:#x}\n{advice}")


class Queue:
    """A thread that runs tasks in order, each after ``delay()``."""

    def __init__(self, name: str, delay: Task, failed: Callable[..., None]) -> None:
        self._tasks: SimpleQueue[tuple[Task, Launch | None]] = SimpleQueue()
        self._delay, self._failed = delay, failed
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def put(self, task: Task, launch: Launch | None = None) -> None:
        """Adds a task; ``launch`` names it where it fails."""
        self._tasks.put((task, launch))

    def mark(self) -> Mark:
        """The present end."""
        mark = Mark()
        self.put(mark.set)
        return mark

    def _work(self) -> None:
        while True:
            task, launch = self._tasks.get()
            self._delay()
            try:
                task()
            except Exception as error:
                self._failed(error, launch)

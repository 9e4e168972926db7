"""Runs a group's calls in order: on the calling thread if nothing is pending, else on
the group's thread.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from pellucid.distributed._distributed import Calls
from pellucid.distributed._group.work import Work

Task = tuple[Callable[[], None], Work]


class CallQueue(Calls):
    """Runs one call at a time. The thread starts at the first call that needs it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._counting = threading.Lock()
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, run: Callable[[], None], work: Work) -> None:
        """Runs the call on the thread, and completes ``work``. ``run`` calls ``begin``
        and ``end``.
        """
        with self._counting:
            self.num_queued += 1
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, daemon=True, name=self._name
                )
                self._thread.start()
        self._tasks.put((run, work))

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            run, work = task
            error: BaseException | None = None
            try:
                run()
            except BaseException as raised:
                error = raised
            with self._counting:
                self.num_queued -= 1
            work._finish(error)
            del task, run, work

    def stop(self, seconds: float) -> None:
        """Waits for queued calls up to the timeout, and ends the thread."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._tasks.put(None)
            self._thread.join(seconds)

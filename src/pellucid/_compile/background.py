"""Kernels of groups, made on a thread of their own.

The runtime calls ``request`` when it met a group of recorded ops the second time; the
answer reaches it by ``_C._publish_group``, whenever it is ready. What a group computes
does not depend on that: its kernel has the bits of its ops.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from typing import Final

from pellucid import _C

_Request = tuple[int, bytes]


class _Maker:
    """The queue of requests and the thread that serves it; a daemon."""

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self.left = 0
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None

    def add(self, request: _Request) -> None:
        with self.changed:
            self.left += 1
            if self.thread is None:
                self.thread = threading.Thread(
                    target=self.serve, name="pellucid-groups", daemon=True
                )
                self.thread.start()
        self.requests.put(request)

    def serve(self) -> None:
        while (request := self.requests.get()) is not None:
            make(*request)
            with self.changed:
                self.left -= 1
                self.changed.notify_all()

    def wait(self, timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.left == 0, timeout)

    def stop(self) -> None:
        self.requests.put(None)
        if self.thread is not None:
            self.thread.join(timeout=2)


_maker: Final[list[_Maker]] = [_Maker()]


def _renew() -> None:
    """A forked process has not the thread."""
    _maker[0] = _Maker()


os.register_at_fork(after_in_child=_renew)
atexit.register(lambda: _maker[0].stop())


def request(number: int, description: bytes) -> None:
    """Asks for the kernel of group ``number``; returns at once."""
    _maker[0].add((number, description))


def wait(timeout: float | None = None) -> bool:
    """Waits until the requested kernels have arrived; False after ``timeout``
    seconds.
    """
    return _maker[0].wait(timeout)


def make(number: int, description: bytes) -> None:
    """Makes one kernel and gives it to the runtime, or tells it why there is none."""
    from pellucid._C._runtime.tracing import answer_group

    try:
        _C._publish_group(number, answer_group(description))
    except Exception as error:
        # The ops run one by one, as they did; pellucid.explain shows the reason.
        _C._refuse_group(number, f"{type(error).__name__}: {error}")

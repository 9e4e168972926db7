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


def is_idle() -> bool:
    """Whether every requested kernel has arrived."""
    return _maker[0].left == 0


def make(number: int, description: bytes) -> None:
    """Gives one kernel to the runtime, or tells it why there is none: as it was stored,
    or made now.
    """
    from pellucid._C._runtime import stored_answers

    try:
        stored = stored_answers.load(description)
        if stored is None:
            _make_and_store(number, description)
        elif stored.answer is None:
            _C._refuse_group(number, stored.refusal)
        else:
            _C._publish_group(number, stored.answer)
            if _C._recorded_groups()[number][2] == _C._OTHER_BITS:
                stored_answers.forget(description)  # an op means something else now
    except Exception as error:
        # The ops run one by one, as they did; pellucid.explain shows the reason.
        _C._refuse_group(number, _reason(error))


def _make_and_store(number: int, description: bytes) -> None:
    from pellucid._C._runtime import stored_answers
    from pellucid._C._runtime.tracing import answer_group

    with stored_answers.noting() as notes:
        try:
            found = answer_group(description)
        except LookupError as error:  # there is no such kernel, whenever it is asked
            stored = stored_answers.Stored(None, _reason(error), notes)
            stored_answers.save(description, stored)
            raise
        _C._publish_group(number, found)
    stored_answers.save(description, stored_answers.Stored(found, "", notes))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

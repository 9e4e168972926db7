"""Compiles the kernels of groups on a background thread.

The runtime calls ``request`` the second time that a group of recorded ops occurs; the
kernel is delivered by ``_C._publish_group`` when it is ready. Results do not depend on
the timing: the kernel has the same bits as the single ops.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from typing import Final

from pellucid import _C

_Request = tuple[int, bytes]

_SECONDS_AT_EXIT: Final = 60
"""How long an exiting process waits for the thread at most. The interpreter must not
end before it: it would unwind C++ frames that call Python.
"""


class _Maker:
    """The queue of requests and the daemon thread that serves it."""

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self.left = 0
        self.ends = False
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
        while (request := self.requests.get()) is not None and not self.ends:
            make(*request)
            with self.changed:
                self.left -= 1
                self.changed.notify_all()

    def wait(self, timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.left == 0, timeout)

    def stop(self) -> None:
        """Ends the thread, also in the middle of a request."""
        import ctypes

        self.ends = True
        self.requests.put(None)
        if self.thread is not None and self.thread.ident is not None:
            interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
            interrupt(ctypes.c_ulong(self.thread.ident), ctypes.py_object(SystemExit))
            self.thread.join(_SECONDS_AT_EXIT)


_maker: Final[list[_Maker]] = [_Maker()]


def _renew() -> None:
    """Restarts in a forked process, which does not inherit the thread."""
    _maker[0] = _Maker()


os.register_at_fork(after_in_child=_renew)
atexit.register(lambda: _maker[0].stop())


def request(number: int, description: bytes) -> None:
    """Requests the kernel of group ``number``; returns immediately."""
    _maker[0].add((number, description))


def wait(timeout: float | None = None) -> bool:
    """Waits until the requested kernels are ready; False after ``timeout`` seconds."""
    return _maker[0].wait(timeout)


def is_idle() -> bool:
    """Whether every requested kernel is ready."""
    return _maker[0].left == 0


def make(number: int, description: bytes) -> None:
    """Delivers one kernel to the runtime, cached or newly compiled, or the reason for
    its absence.
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
                stored_answers.forget(description)  # an op was redefined meanwhile
    except Exception as error:
        # The ops keep running one by one; pellucid.explain shows the reason.
        _C._refuse_group(number, _reason(error))


def _make_and_store(number: int, description: bytes) -> None:
    from pellucid._C._runtime import stored_answers
    from pellucid._C._runtime.tracing import answer_group

    with stored_answers.noting() as notes:
        try:
            found = answer_group(description)
        except LookupError as error:  # no such kernel exists; the answer is final
            stored = stored_answers.Stored(None, _reason(error), notes)
            stored_answers.save(description, stored)
            raise
        _C._publish_group(number, found)
    stored_answers.save(description, stored_answers.Stored(found, "", notes))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

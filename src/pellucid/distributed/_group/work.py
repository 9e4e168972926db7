"""``Work``: a pending or completed collective."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pellucid import _C
from pellucid.distributed._stores.errors import DistBackendError
from pellucid.distributed._stores.store import seconds_of
from pellucid.futures import Future


class Work:
    """The result of a collective with ``async_op=True``; call ``wait()`` before using
    the tensors.
    """

    _error: BaseException | None = None
    _is_done = True
    _lock: threading.Condition | None = None  # of one that was pending
    _callbacks: list[Callable[[], None]]

    def __init__(self, tensors: Any = None) -> None:
        self._tensors = tensors

    @classmethod
    def pending(cls, tensors: Any) -> Work:
        """A pending Work, completed by another thread."""
        work = cls(tensors)
        work._is_done, work._lock = False, threading.Condition()
        work._callbacks = []
        return work

    def _finish(self, error: BaseException | None = None) -> None:
        assert self._lock is not None
        with self._lock:
            self._error, self._is_done = error, True
            callbacks, self._callbacks = self._callbacks, []
            self._lock.notify_all()
        for callback in callbacks:
            callback()

    def is_completed(self) -> bool:
        """Whether it is done, with or without an error."""
        return self._is_done

    def is_success(self) -> bool:
        """Whether it is done and has not failed."""
        return self._is_done and self._error is None

    def exception(self) -> BaseException | None:
        """The exception with which it failed."""
        return self._error

    def wait(self, timeout: Any = None) -> bool:
        """Waits until it is done; raises its exception. ``timeout``, a timedelta, is
        the time before DistBackendError.
        """
        if not self._is_done:
            seconds = None if timeout is None else seconds_of(timeout) or None
            assert self._lock is not None
            token = _C._timeline_begin("distributed::wait")
            try:
                with self._lock:
                    is_done = self._lock.wait_for(lambda: self._is_done, seconds)
            finally:
                _C._timeline_end(token)
            if not is_done:
                raise DistBackendError(
                    f"the collective is not done after {seconds:g} s; it still runs "
                    "and can be waited for again"
                )
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """``wait()``, as there are no streams."""
        self.wait()

    def block_current_stream(self) -> None:
        """``wait()``, as there are no streams."""
        self.wait()

    def result(self) -> Any:
        """The tensors written by the collective."""
        self.wait()
        return self._tensors

    def source_rank(self) -> int:
        """The sender, for a receive from any rank."""
        raise RuntimeError("only a receive has a source; this is a collective")

    def get_future(self) -> Future:
        """A Future of the tensors. Callbacks run on the group's thread and must not
        wait for other collectives.
        """
        future = Future()

        def settle() -> None:
            if self._error is not None:
                future.set_exception(self._error)
            else:
                future.set_result(self._tensors)

        if self._lock is not None:
            with self._lock:
                if not self._is_done:
                    self._callbacks.append(settle)
                    return future
        settle()
        return future

    def get_future_result(self) -> Future:
        """A Future of whether it has succeeded."""
        return self.get_future().then(lambda _: self.is_success())

    def abort(self) -> None:
        """Refuses: a running collective ends only with its group."""
        raise RuntimeError("a running collective cannot be stopped; destroy the group")

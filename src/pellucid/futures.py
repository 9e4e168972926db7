"""``torch.futures``: results of asynchronous calls. Imported lazily."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import GenericAlias
from typing import Any

from pellucid._package.calls import offered

__all__ = ["Future", "collect_all", "wait_all"]


@offered.value
class Future:
    """A result that another thread sets; ``Future[T]`` annotates its type."""

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)

    def __init__(self, *, devices: Any = None) -> None:
        self._changed = threading.Condition()
        self._is_done = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether a result or an error has been set."""
        return self._is_done

    def wait(self) -> Any:
        """Waits for the result; raises the error if one was set instead."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_done)
        return self.value()

    def value(self) -> Any:
        """The result; raises RuntimeError if it is not set yet."""
        if not self._is_done:
            raise RuntimeError("the future has no result yet: wait() for it")
        if self._error is not None:
            raise self._error
        return self._result

    def set_result(self, result: Any) -> None:
        """Sets the result; only once."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Sets an error instead of a result."""
        self._finish(None, result)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._is_done:
                raise RuntimeError("the future has a result already")
            self._result, self._error, self._is_done = result, error, True
            self._changed.notify_all()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Calls ``callback(self)`` when the result is set."""
        with self._changed:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future for the result of ``callback(self)``."""
        later = Future()

        def run(done: Future) -> None:
            try:
                result = callback(done)
            except Exception as error:
                later.set_exception(error)
            else:
                later.set_result(result)

        self.add_done_callback(run)
        return later


def collect_all(futures: list[Future]) -> Future:
    """A future for the list, complete when all of them are."""
    whole = Future()
    missing = [len(futures)]
    counting = threading.Lock()

    def count(_: Future) -> None:
        with counting:
            missing[0] -= 1
            is_last = missing[0] == 0
        if is_last:
            whole.set_result(futures)

    if not futures:
        whole.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return whole


def wait_all(futures: list[Future]) -> list[Any]:
    """Waits for all results and returns them."""
    return [future.wait() for future in collect_all(futures).wait()]

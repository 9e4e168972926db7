"""The values of a store, and the implementation of requests, which may wait for
keys.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable

Fields = list[bytes]


class Missing(Exception):
    """Raised for keys that were not set within the timeout."""

    def __init__(self, keys: Fields) -> None:
        super().__init__(keys)
        self.keys = keys


class Empty(Exception):
    """Raised if a queue is empty and the request does not wait."""


class Table:
    """A thread-safe table of bytes by key, and of queues."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.queues: defaultdict[bytes, deque[bytes]] = defaultdict(deque)
        self._changed = threading.Condition()

    def request(self, name: str, fields: Fields, timeout: float) -> Fields:
        """The reply; raises Missing if keys are not set in time."""
        with self._changed:
            reply: Fields = getattr(self, f"_{name}")(fields, timeout)
            return reply

    def _await(self, is_there: Callable[[], bool], timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not is_there():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._changed.wait(min(left, threading.TIMEOUT_MAX))
        return True

    def _wait(self, keys: Fields, timeout: float) -> Fields:
        if not self._await(lambda: all(k in self.values for k in keys), timeout):
            raise Missing([k for k in keys if k not in self.values])
        return []

    def _put(self, key: bytes, value: bytes) -> None:
        self.values[key] = value
        self._changed.notify_all()

    def _set(self, fields: Fields, timeout: float) -> Fields:
        for key, value in zip(fields[::2], fields[1::2], strict=True):
            self._put(key, value)
        return []

    def _get(self, keys: Fields, timeout: float) -> Fields:
        self._wait(keys, timeout)
        return [self.values[key] for key in keys]

    def _add(self, fields: Fields, timeout: float) -> Fields:
        key, amount = fields
        self._put(key, b"%d" % (int(self.values.get(key, b"0")) + int(amount)))
        return [self.values[key]]

    def _append(self, fields: Fields, timeout: float) -> Fields:
        key, value = fields
        self._put(key, self.values.get(key, b"") + value)
        return []

    def _compare_set(self, fields: Fields, timeout: float) -> Fields:
        key, expected, desired = fields
        if key not in self.values and expected:
            return [expected]
        if self.values.get(key, b"") == expected:
            self._put(key, desired)
        return [self.values[key]]

    def _check(self, keys: Fields, timeout: float) -> Fields:
        return [b"1" if all(k in self.values for k in keys) else b"0"]

    def _delete(self, fields: Fields, timeout: float) -> Fields:
        return [b"1" if self.values.pop(fields[0], None) is not None else b"0"]

    def _count(self, fields: Fields, timeout: float) -> Fields:
        return [b"%d" % len(self.values)]

    def _keys(self, fields: Fields, timeout: float) -> Fields:
        return list(self.values)

    def _push(self, fields: Fields, timeout: float) -> Fields:
        self.queues[fields[0]].append(fields[1])
        self._changed.notify_all()
        return []

    def _pop(self, fields: Fields, timeout: float) -> Fields:
        key, waits = fields
        if not self._await(lambda: bool(self.queues[key]), timeout * (waits == b"1")):
            raise Missing([key]) if waits == b"1" else Empty
        return [self.queues[key].popleft()]

    def _length(self, fields: Fields, timeout: float) -> Fields:
        return [b"%d" % len(self.queues[fields[0]])]

"""``Store``: the base class of stores; its methods are requests to a table."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from pellucid.distributed._stores.errors import DistStoreError, QueueEmptyError
from pellucid.distributed._stores.table import Empty, Fields, Missing

DEFAULT_TIMEOUT = datetime.timedelta(seconds=300)


def seconds_of(timeout: Any) -> float:
    """A timedelta, or a number of seconds, as seconds."""
    if isinstance(timeout, datetime.timedelta):
        return timeout.total_seconds()
    return float(timeout)


def as_bytes(text: str | bytes) -> bytes:
    """Text in UTF-8."""
    return text.encode() if isinstance(text, str) else bytes(text)


class Store:
    """Keys and values that processes share. Values are bytes; ``get`` waits for its key
    until the timeout and then raises DistStoreError.

    Example: ``store.set("loss", "0.5"); store.get("loss") == b"0.5"``.
    """

    def __init__(self) -> None:
        self._seconds = DEFAULT_TIMEOUT.total_seconds()

    def _request(self, name: str, fields: Fields, timeout: float) -> Fields:
        raise NotImplementedError(f"{type(self).__name__} does not answer {name!r}")

    def _ask(self, name: str, *fields: str | bytes, timeout: Any = None) -> Fields:
        seconds = self._seconds if timeout is None else seconds_of(timeout)
        try:
            return self._request(name, [as_bytes(field) for field in fields], seconds)
        except Missing as missing:
            keys = ", ".join(key.decode(errors="replace") for key in missing.keys)
            raise DistStoreError(
                f"wait timeout after {round(seconds * 1000)}ms, keys: {keys} "
                "(no process has set them)"
            ) from None
        except Empty:
            raise QueueEmptyError(f"the queue {fields[0]!r} is empty") from None

    @property
    def timeout(self) -> datetime.timedelta:
        """The time that requests wait for keys."""
        return datetime.timedelta(seconds=self._seconds)

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Sets the time that requests wait for keys."""
        self._seconds = seconds_of(timeout)

    def set(self, key: str, value: str | bytes) -> None:
        """Stores a value."""
        self._ask("set", key, value)

    def get(self, key: str) -> bytes:
        """The value of a key, once it is set."""
        return self._ask("get", key)[0]

    def add(self, key: str, amount: int) -> int:
        """Adds to a counter, which starts at 0; returns its new value."""
        return int(self._ask("add", key, str(int(amount)))[0])

    def append(self, key: str, value: str | bytes) -> None:
        """Appends bytes to a value."""
        self._ask("append", key, value)

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Stores ``desired_value`` if the value is ``expected_value`` ("": absent);
        returns the new value.
        """
        return self._ask("compare_set", key, expected_value, desired_value)[0]

    def wait(self, keys: Sequence[str], timeout: Any = None) -> None:
        """Waits until all keys are set."""
        self._ask("wait", *keys, timeout=timeout)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are set."""
        return self._ask("check", *keys)[0] == b"1"

    def delete_key(self, key: str) -> bool:
        """Deletes a key; returns whether it existed."""
        return self._ask("delete", key)[0] == b"1"

    def num_keys(self) -> int:
        """The number of keys."""
        return int(self._ask("count")[0])

    def list_keys(self) -> list[str]:
        """All keys."""
        return [key.decode() for key in self._ask("keys")]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys, in one request."""
        return self._ask("get", *keys)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Stores several values in one request."""
        pairs = zip(keys, values, strict=True)
        self._ask("set", *(field for pair in pairs for field in pair))

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Adds a value at the end of a queue."""
        self._ask("push", key, value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """The first value of a queue; waits for one if ``block``."""
        return self._ask("pop", key, "1" if block else "0")[0]

    def queue_len(self, key: str) -> int:
        """The length of a queue."""
        return int(self._ask("length", key)[0])

    def has_extended_api(self) -> bool:
        """True: ``append``, ``multi_get`` and ``multi_set`` are supported."""
        return True

    def clone(self) -> Store:
        """A store over the same values, for use by another thread."""
        return self

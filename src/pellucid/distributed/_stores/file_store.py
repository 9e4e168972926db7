"""``FileStore``: a store in a file on a file system that all processes share.

The file is a log of requests that change values. Every request takes the file's lock,
reads what others have added, and appends itself. A process that is killed while it
writes leaves part of a record, which the next one removes. Waiting is polling.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from collections.abc import Iterator

from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.table import Empty, Fields, Missing, Table

_CHANGES = {"set", "add", "append", "compare_set", "delete", "push", "pop"}
_LENGTH = struct.Struct("!Q")


def _records(log: bytes) -> Iterator[tuple[Fields, int]]:
    """The fields of each complete record, and the offset of its end."""
    place = 0

    def number() -> int:
        nonlocal place
        place += _LENGTH.size
        return int(_LENGTH.unpack_from(log, place - _LENGTH.size)[0])

    with contextlib.suppress(struct.error):  # the log ends inside a number
        while True:
            fields = []
            for _ in range(number()):
                length = number()
                fields.append(log[place : place + length])
                place += length
            if place > len(log):
                return
            yield fields, place


class FileStore(Store):
    """A store in the file ``file_name``, which the last of ``world_size`` processes
    deletes (-1: nobody does).
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._path, self._table, self._read = file_name, Table(), 0
        self._lock = threading.Lock()
        self._world_size = world_size
        self._request("add", [b"init/workers", b"1"], 0)

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def _try(self, name: str, fields: Fields) -> Fields:
        with self._lock, open(self._path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read)
            log, end = file.read(), 0
            for (kind, *known), end in _records(log):  # noqa: B007
                self._table.request(kind.decode(), known, 0)
            self._read += end
            if end < len(log):  # nobody is writing: this process has the lock
                file.truncate(self._read)
            reply = self._table.request(name, fields, 0)
            if name in _CHANGES:
                record = [name.encode(), *fields]
                parts = [_LENGTH.pack(len(record))]
                parts += [_LENGTH.pack(len(field)) + field for field in record]
                file.write(b"".join(parts))
                file.flush()
                self._read = os.fstat(file.fileno()).st_size
            return reply

    def _request(self, name: str, fields: Fields, timeout: float) -> Fields:
        end = time.monotonic() + timeout
        while True:
            try:
                return self._try(name, fields)
            except (Missing, Empty) as error:
                is_final = isinstance(error, Empty) or time.monotonic() > end
                if is_final:
                    raise
                time.sleep(0.01)

    def __del__(self) -> None:
        try:
            if self._world_size > 0 and self.add("init/workers", -1) == 0:
                os.remove(self._path)
        except (OSError, AttributeError, TypeError, RuntimeError):
            return

"""The workers of a job: their names and addresses, and meetings of all of them.

A worker puts its address into the store, with the address in memory of a secret token:
who can read the token from the other process can read its tensors too.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import secrets
import time
from dataclasses import dataclass
from typing import Any

from pellucid.distributed._distributed import read_memory
from pellucid.distributed._stores.errors import DistError, DistStoreError
from pellucid.distributed._stores.store import Store
from pellucid.distributed.rpc import wire


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's name and rank."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


class Workers:
    """All workers of the job, known after construction, which waits for them.

    ``own`` is this one, at ``host`` and ``port``; ``key`` is what callers must know.
    """

    def __init__(
        self, own: WorkerInfo, size: int, store: Store, host: str, port: int
    ) -> None:
        self.own = own
        self._store, self._size = store, size
        self._ended: set[int] = set()  # workers whose connections have closed
        self._token = bytearray(secrets.token_bytes(wire.KEY_BYTES))
        if own.id == 0:
            store.set("key", secrets.token_hex(wire.KEY_BYTES))
        self.key = bytes.fromhex(store.get("key").decode())
        token = wire.address_of(self._token), self._token.hex()
        address = own.name, host, port, os.getpid(), *token
        store.set(f"worker/{own.id}", json.dumps(address))
        texts = store.multi_get([f"worker/{other}" for other in range(size)])
        self._addresses = [json.loads(text) for text in texts]
        self._readable = [n for n in range(size) if self.readable_pid(n)]
        self.all = [
            WorkerInfo(address[0], number)
            for number, address in enumerate(self._addresses)
        ]
        self._named: dict[str | int, WorkerInfo] = dict(enumerate(self.all))
        self._named |= {worker.name: worker for worker in self.all}
        if len(self._named) != 2 * size:
            raise RuntimeError(f"names of workers must differ: {self.all}")

    def find(self, to: Any) -> WorkerInfo:
        """The WorkerInfo of a name, a rank or a WorkerInfo."""
        if isinstance(to, WorkerInfo):
            return to
        info = self._named.get(to)
        if info is not None:
            return info
        raise RuntimeError(f"there is no worker {to!r}; there are {self.all}")

    def address(self, number: int) -> tuple[str, int]:
        """The host and port at which a worker accepts calls."""
        _, host, port, *_ = self._addresses[number]
        return host, port

    def shown(self, number: int) -> str:
        """A worker in messages."""
        name, host, _, pid, *_ = self._addresses[number]
        return f"{name} ({host}, pid {pid})"

    def readable_pid(self, number: int) -> int:
        """The pid of a worker whose memory this process can read, else 0."""
        *_, pid, address, token = self._addresses[number]
        buffer = bytearray(len(token) // 2)
        is_read = read_memory(pid, address, buffer)
        return pid if is_read and buffer.hex() == token else 0

    def note_end(self, number: int) -> None:
        """A connection of this worker has closed."""
        self._ended.add(number)

    def meet(self, name: str) -> None:
        """Waits for all workers; RuntimeError if one has ended."""
        key = f"{name}/all"
        if self._store.add(f"{name}/count", 1) == self._size:
            self._store.set(key, "1")
        end = time.monotonic() + self._store.timeout.total_seconds()
        while True:
            left = max(end - time.monotonic(), 0)
            try:
                self._store.wait([key], datetime.timedelta(seconds=min(left, 0.5)))
                return
            except DistStoreError:
                ended = self._ended_workers()
                if self._store.check([key]):  # they had arrived and continued
                    return
                if ended:
                    shown = ", ".join(self.shown(number) for number in ended)
                    raise RuntimeError(
                        f"workers have ended before the {name} of RPC: {shown}. "
                        "shutdown(graceful=False) does not wait for them"
                    ) from None
                if not left:
                    raise

    def _ended_workers(self) -> list[int]:
        """The workers that are known to have ended or shut down."""
        gone = {n for n in self._readable if not self.readable_pid(n)}
        return sorted(gone | self._ended)

    def leave(self) -> None:
        """Waits until all workers leave; worker 0, which may host the store, also until
        the others have read this.
        """
        self.meet("end")
        if self.own.id == 0:
            with contextlib.suppress(DistError):  # a worker died after the barrier
                if self._size > 1:
                    self._store.wait(["end/read"], datetime.timedelta(seconds=60))
            return
        with contextlib.suppress(
            DistError
        ):  # an answer that worker 0 left too early for
            if self._store.add("end/readers", 1) == self._size - 1:
                self._store.set("end/read", "1")

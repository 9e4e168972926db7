"""Links over MPI, by mpi4py: messages are posted without blocking and polled.

MPI has no timeouts, and many implementations wait forever for a process that has died;
polling against a deadline bounds every wait here.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

from pellucid.distributed._distributed import Failure
from pellucid.distributed._transport.messages import ANY_RANK, Links

_TAG = 77


class MpiLinks(Links):
    """``communicator``: an mpi4py communicator of exactly the group's ranks."""

    def __init__(self, communicator: Any) -> None:
        self._comm = communicator
        self._inbox: defaultdict[tuple[int, int, int], deque[bytes]]
        self._inbox = defaultdict(deque)
        self._sends: list[Any] = []

    def post(self, peer: int, channel: int, number: int, data: bytes) -> None:
        """Sends without waiting for the receiver."""
        if peer == self._comm.Get_rank():
            self._inbox[peer, channel, number].append(data)
            return
        message = (channel, number, data)
        self._sends = [send for send in self._sends if not send.Test()]
        self._sends.append(self._comm.isend(message, dest=peer, tag=_TAG))

    def _receive(self) -> bool:
        from mpi4py import MPI

        status = MPI.Status()
        message = self._comm.improbe(MPI.ANY_SOURCE, _TAG, status)
        if message is None:
            return False
        channel, number, data = message.recv()
        self._inbox[status.Get_source(), channel, number].append(data)
        return True

    def _sender(self, peer: int, channel: int, number: int) -> int | None:
        peers = range(self._comm.Get_size()) if peer == ANY_RANK else (peer,)
        return next((p for p in peers if self._inbox[p, channel, number]), None)

    def has_message(self, peer: int, channel: int, number: int) -> bool:
        """Whether ``take`` would return without waiting."""
        while self._receive():
            pass
        return self._sender(peer, channel, number) is not None

    def take(
        self,
        peer: int,
        channel: int,
        number: int,
        end: float,
        needed: Sequence[int] = (),
    ) -> tuple[int, bytes]:
        """The next message and its sender. MPI does not report ended processes."""
        sleep = 0.0
        while (sender := self._sender(peer, channel, number)) is None:
            if self._receive():
                sleep = 0.0
                continue
            if time.monotonic() > end:
                ranks = range(self._comm.Get_size()) if peer == ANY_RANK else [peer]
                raise Failure("timed out", list(ranks))
            sleep = min(sleep + 1e-6, 1e-3)
            time.sleep(sleep)
        return sender, self._inbox[sender, channel, number].popleft()

    def where(self, peer: int, timeout: float) -> str:
        """Empty: a rank cannot answer while it does not call MPI."""
        return ""

    def close(self, has_failed: bool) -> None:
        """Waits for pending sends, unless the group has failed."""
        if not has_failed:
            for send in self._sends:
                send.Wait()
        self._sends.clear()

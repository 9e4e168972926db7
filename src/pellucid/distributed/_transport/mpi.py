"""Links over MPI, by mpi4py: messages are posted without blocking and polled.

MPI has no timeouts, and many implementations wait forever for a process that has died;
polling against a deadline bounds every wait here. Nor can a process be asked where it
is while it does not call MPI: a thread of each rank answers such questions.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

from pellucid.distributed._distributed import Failure
from pellucid.distributed._transport.messages import (
    ANY_RANK,
    DIRECT_BYTES,
    Buffer,
    Links,
)

_FRAME = struct.Struct("!qqq")  # channel, number, bytes
# The tags of messages up to DIRECT_BYTES, which follow their frames; of the last parts
# of larger ones; and of what the threads that answer exchange.
_FRAMED, _LARGE, _QUESTION, _ANSWER = range(77, 81)
_LEAVE = 12  # a channel in addition to those of groups
_SPIN_SECONDS, _YIELD_SECONDS = 100e-6, 2e-3  # of a wait, before it sleeps
_SLEEP_SECONDS = 0.5e-3
_ANSWER_SECONDS = 0.1  # between looks for questions

Key = tuple[int, int, int]  # peer, channel, number

#: What closed links had not sent: MPI may read that memory until the process ends.
_unsent: list[tuple[Any, Buffer]] = []


class MpiLinks(Links):
    """``communicator``: an mpi4py communicator of exactly the group's ranks."""

    def __init__(self, communicator: Any, where: Callable[[], str]) -> None:
        from mpi4py import MPI

        super().__init__()
        self._mpi, self._comm, self._where = MPI, communicator, where
        self._rank, self._size = communicator.Get_rank(), communicator.Get_size()
        self._lock = threading.RLock()
        self._inbox: defaultdict[Key, deque[bytearray]] = defaultdict(deque)
        # What each peer is sending: requests of large messages, in order.
        self._arriving: defaultdict[int, deque[tuple[Any, Key, bytearray]]]
        self._arriving = defaultdict(deque)
        self._sends: list[tuple[Any, Buffer]] = []  # requests, and what they send
        self._gone: dict[int, str] = {}
        self._closed = threading.Event()
        self._witness = threading.Thread(target=self._answer, daemon=True, name="where")
        self._witness.start()

    def _send(self, data: Buffer, peer: int, tag: int) -> None:
        buffer = [data, self._mpi.BYTE]
        self._sends.append((self._comm.Isend(buffer, peer, tag), data))

    def post(self, peer: int, channel: int, number: int, *parts: Buffer) -> None:
        """Sends without waiting for the receiver."""
        with self._lock:
            if peer == self._rank:
                key = peer, channel, number
                self._inbox[key].append(bytearray().join(parts))
                return
            self._forget_sent()
            nbytes = sum(map(len, parts))
            frame = _FRAME.pack(channel, number, nbytes)
            if nbytes <= DIRECT_BYTES:
                self._send(b"".join((frame, *parts)), peer, _FRAMED)
            else:
                self._send(b"".join((frame, *parts[:-1])), peer, _FRAMED)
                self._send(parts[-1], peer, _LARGE)

    def _forget_sent(self) -> None:
        self._sends = [send for send in self._sends if not send[0].Test()]

    def flush(self, end: float) -> None:
        """Waits until the peers have taken all messages."""
        if not self._poll(self._has_sent, end):
            raise Failure("timed out", self._others())

    def _has_sent(self) -> bool:
        with self._lock:
            self._forget_sent()
            return not self._sends

    def _others(self) -> list[int]:
        return [rank for rank in range(self._size) if rank != self._rank]

    def _poll(self, is_done: Callable[[], bool], end: float) -> bool:
        """Whether it is done by ``end``; receives messages meanwhile."""
        began = time.monotonic()
        while not is_done():
            if self._receive():
                began = time.monotonic()
                continue
            now = time.monotonic()
            if now > end:
                return False
            if now - began > _YIELD_SECONDS:
                time.sleep(_SLEEP_SECONDS)
            elif now - began > _SPIN_SECONDS:
                os.sched_yield()
        return True

    def _receive(self) -> bool:
        """Takes a message, if there is one; whether something has arrived."""
        with self._lock:
            has_arrived = self._end_arrivals()
            status = self._mpi.Status()
            framed = self._probe(self._mpi.ANY_SOURCE, _FRAMED, status)
            if framed is None:
                return has_arrived
            channel, number, nbytes = _FRAME.unpack_from(framed)
            peer = status.Get_source()
            if channel == _LEAVE:
                self._gone[peer] = "left"
                return True
            del framed[: _FRAME.size]
            data, request = framed, self._mpi.REQUEST_NULL
            if len(framed) < nbytes:
                data = self._buffer(nbytes)
                data[: len(framed)] = framed
                rest = memoryview(data)[len(framed) :]
                request = self._comm.Irecv([rest, self._mpi.BYTE], peer, _LARGE)
            self._arriving[peer].append((request, (peer, channel, number), data))
            self._end_arrivals()
            return True

    def _end_arrivals(self) -> bool:
        """Delivers what has arrived, in the order in which it was sent."""
        has_arrived = False
        for waiting in self._arriving.values():
            while waiting and waiting[0][0].Test():
                _, key, data = waiting.popleft()
                self._inbox[key].append(data)
                has_arrived = True
        return has_arrived

    def _sender(self, peer: int, channel: int, number: int) -> int | None:
        peers = range(self._size) if peer == ANY_RANK else (peer,)
        return next((p for p in peers if self._inbox.get((p, channel, number))), None)

    def has_message(self, peer: int, channel: int, number: int) -> bool:
        """Whether ``take`` would return without waiting."""
        with self._lock:
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
    ) -> tuple[int, bytearray]:
        """The next message and its sender. MPI does not report ended processes."""
        key = channel, number

        def is_here() -> bool:
            with self._lock:
                if self._sender(peer, *key) is not None:
                    return True
                gone = self._missing(peer, key, needed)
            if gone:
                raise Failure("left", gone)
            return False

        if not self._poll(is_here, end):
            raise Failure("timed out", self._others() if peer == ANY_RANK else [peer])
        with self._lock:
            sender = self._sender(peer, *key)
            assert sender is not None  # nobody else takes what has this key
            waiting = self._inbox[sender, *key]
            data = waiting.popleft()
            if not waiting:
                del self._inbox[sender, *key]
            return sender, data

    def _missing(
        self, peer: int, key: tuple[int, int], needed: Sequence[int]
    ) -> list[int]:
        """The awaited peers that have left without a message."""
        if peer == ANY_RANK:
            return list(self._gone)
        here = (p for p in {peer, *needed} if p in self._gone)
        return [
            p for p in here if not (self._inbox.get((p, *key)) or self._arriving[p])
        ]

    def losses(self) -> dict[int, str]:
        """The peers that have "left"."""
        with self._lock:
            return dict(self._gone)

    # Where a rank is

    def _answer(self) -> None:
        """Runs on a thread of its own: answers questions of peers."""
        while not self._closed.wait(_ANSWER_SECONDS):
            with self._lock:
                status = self._mpi.Status()
                question = self._probe(self._mpi.ANY_SOURCE, _QUESTION, status)
                if question is not None:
                    text = self._where().encode()
                    self._send(text, status.Get_source(), _ANSWER)

    def _probe(self, peer: int, tag: int, status: Any) -> bytearray | None:
        message = self._comm.Improbe(peer, tag, status)
        if message is None:
            return None
        data = bytearray(status.Get_count(self._mpi.BYTE))
        message.Recv([data, self._mpi.BYTE])
        return data

    def where(self, peer: int, timeout: float) -> str:
        """The peer's source location; empty if it does not answer."""
        answers: list[bytearray] = []

        def is_answered() -> bool:
            with self._lock:
                found = self._probe(peer, _ANSWER, self._mpi.Status())
            answers.extend(() if found is None else [found])
            return bool(answers)

        with self._lock:
            self._send(b"?", peer, _QUESTION)
        self._poll(is_answered, time.monotonic() + timeout)
        return answers[0].decode() if answers else ""

    def close(self, has_failed: bool) -> None:
        """Tells the peers, and waits at most two seconds until they have messages."""
        if self._closed.is_set():
            return
        for peer in self._others():
            self.post(peer, _LEAVE, 0)
        self._poll(self._has_sent, time.monotonic() + (0 if has_failed else 2))
        self._closed.set()
        self._witness.join()
        _unsent.extend(self._sends)

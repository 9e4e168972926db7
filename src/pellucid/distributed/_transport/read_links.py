"""Links whose messages arrive on threads, one per peer: what is the same over sockets
and over Gloo.
"""

from __future__ import annotations

import contextlib
import struct
import threading
import time
from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from pellucid.distributed._distributed import Failure
from pellucid.distributed._transport.messages import ANY_RANK, Buffer, Links

FRAME = struct.Struct("!qqq")  # channel, number, bytes
_QUESTION, _ANSWER, _LEAVE = 10, 11, 12  # channels in addition to those of groups
_ASK_SECONDS = 0.5  # seconds of a wait before it checks whether the peer will send
Key = tuple[int, int]


class ReadLinks(Links):
    """``on_wait`` is called periodically while a peer (or -1: any) does not send; it
    raises if none will. A subclass connects, then calls ``_start``.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        where: Callable[[], str],
        on_wait: Callable[[int], None],
    ) -> None:
        super().__init__()
        self._rank, self._size, self._where = rank, size, where
        self._on_wait = on_wait
        self._peers = [peer for peer in range(size) if peer != rank]
        self._changed = threading.Condition()
        self._inbox: defaultdict[tuple[int, Key], deque[bytearray]]
        self._inbox = defaultdict(deque)
        self._gone: dict[int, str] = {}
        self._readers: list[threading.Thread] = []

    def _start(self) -> None:
        for peer in self._peers:
            reader = threading.Thread(target=self._read, args=(peer,), daemon=True)
            self._readers.append(reader)
            reader.start()

    @abstractmethod
    def _receive(self, peer: int) -> tuple[int, int, bytearray]:
        """The channel, number and data of the next message; OSError without one."""

    @abstractmethod
    def _put(self, peer: int, frame: bytes, *parts: Buffer) -> None:
        """Sends a frame and its data, or nothing if the peer is gone."""

    @abstractmethod
    def _end(self) -> None:
        """Sends what is posted, for at most two seconds, and ends the connections."""

    def _read(self, peer: int) -> None:
        cause = "ended"
        try:
            with contextlib.suppress(OSError):
                while True:
                    if self._is_last(peer, *self._receive(peer)):
                        cause = "left"
        finally:
            with self._changed:
                self._gone[peer] = cause
                self._changed.notify_all()

    def _is_last(self, peer: int, channel: int, number: int, data: bytearray) -> bool:
        """Handles a message; whether the peer leaves with it."""
        if channel == _QUESTION:
            self.post(peer, _ANSWER, 0, self._where().encode())
            return False
        with self._changed:
            if channel == _LEAVE:
                for (lost,) in struct.iter_unpack("!q", data):  # why the peer leaves
                    self._gone.setdefault(lost, "ended")
                return True
            self._inbox[peer, (channel, number)].append(data)
            self._changed.notify_all()
        return False

    def post(self, peer: int, channel: int, number: int, *parts: Buffer) -> None:
        """Sends without waiting for the receiver."""
        if peer == self._rank:
            with self._changed:
                self._inbox[peer, (channel, number)].append(bytearray().join(parts))
                self._changed.notify_all()
            return
        self._put(peer, FRAME.pack(channel, number, sum(map(len, parts))), *parts)

    def _sender(self, peer: int, key: Key) -> int | None:
        peers = range(self._size) if peer == ANY_RANK else (peer,)
        return next((p for p in peers if self._inbox[p, key]), None)

    def has_message(self, peer: int, channel: int, number: int) -> bool:
        """Whether ``take`` would not wait."""
        with self._changed:
            return self._sender(peer, (channel, number)) is not None

    def take(
        self,
        peer: int,
        channel: int,
        number: int,
        end: float,
        needed: Sequence[int] = (),
    ) -> tuple[int, bytearray]:
        """The next message and its sender."""
        key = channel, number
        with self._changed:
            while (sender := self._sender(peer, key)) is None:
                gone = self._missing(peer, key, needed)
                if gone:
                    ended = [p for p, why in self._gone.items() if why == "ended"]
                    raise Failure("ended" if ended else "left", ended or gone)
                left = end - time.monotonic()
                if left <= 0:
                    others = set(range(self._size)) - {self._rank}
                    raise Failure(
                        "timed out", sorted(others if peer == ANY_RANK else {peer})
                    )
                if not self._changed.wait(min(left, _ASK_SECONDS)):
                    self._ask(peer)
            waiting = self._inbox[sender, key]
            data = waiting.popleft()
            if not waiting:
                del self._inbox[sender, key]
            return sender, data

    def _missing(self, peer: int, key: Key, needed: Sequence[int]) -> list[int]:
        """The awaited peers that will not send."""
        if peer == ANY_RANK:
            return list(self._gone)
        return [
            p
            for p in {peer, *needed}
            if p in self._gone and not self._inbox.get((p, key))
        ]

    def _ask(self, peer: int) -> None:
        """Calls ``on_wait`` with the lock released."""
        self._changed.release()
        try:
            self._on_wait(peer)
        finally:
            self._changed.acquire()

    def losses(self) -> dict[int, str]:
        """The peers that have "ended" or "left"."""
        with self._changed:
            return dict(self._gone)

    def where(self, peer: int, timeout: float) -> str:
        """The peer's source location; empty if it does not answer."""
        self.post(peer, _QUESTION, 0, b"")
        try:
            return self.take(peer, _ANSWER, 0, time.monotonic() + timeout)[1].decode()
        except Failure:
            return ""

    def close(self, has_failed: bool) -> None:
        """Notifies the peers, sends pending messages and closes the connections."""
        with self._changed:
            ended = [p for p, why in self._gone.items() if why == "ended"]
        for peer in self._peers:
            self.post(peer, _LEAVE, 0, struct.pack(f"!{len(ended)}q", *ended))
        self._end()

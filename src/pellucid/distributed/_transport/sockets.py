"""Links over TCP: one connection per pair of ranks, each read by a thread. What a
connection takes at once is sent by the calling thread, the rest by one of its own
(``outbox.py``).
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from pellucid.distributed._distributed import Failure
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.wire import read_exactly, read_into
from pellucid.distributed._transport.messages import ANY_RANK, Buffer, Links
from pellucid.distributed._transport.outbox import Outbox

_FRAME = struct.Struct("!qqq")
_QUESTION, _ANSWER, _LEAVE = 10, 11, 12  # channels in addition to those of groups
_ASK_SECONDS = 0.5  # seconds of a wait before it checks whether the peer will send
Key = tuple[int, int]


class SocketLinks(Links):
    """Connects on construction; addresses are exchanged through the store. ``on_wait``
    is called periodically while a peer (or -1: any) does not send; it raises if none
    will.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        host: str,
        timeout: float,
        where: Callable[[], str],
        on_wait: Callable[[int], None],
    ) -> None:
        super().__init__()
        self._rank, self._size, self._where = rank, size, where
        self._on_wait = on_wait
        self._changed = threading.Condition()
        self._inbox: defaultdict[tuple[int, Key], deque[bytearray]]
        self._inbox = defaultdict(deque)
        self._gone: dict[int, str] = {}
        self._sockets: dict[int, socket.socket] = {}
        self._outbox: dict[int, Outbox] = {}
        self._connect(store, host, timeout)
        for peer, connection in self._sockets.items():
            self._outbox[peer] = Outbox(connection)
            threading.Thread(target=self._read, args=(peer,), daemon=True).start()

    def _connect(self, store: Store, host: str, timeout: float) -> None:
        listener = socket.create_server((host, 0), backlog=self._size)
        with listener:
            listener.settimeout(timeout)
            own_host, own_port = listener.getsockname()[:2]
            store.set(f"address/{self._rank}", f"{own_host} {own_port}")
            for peer in range(self._rank):
                their_host, their_port = store.get(f"address/{peer}").decode().split()
                address = their_host, int(their_port)
                connection = socket.create_connection(address, timeout)
                connection.sendall(struct.pack("!q", self._rank))
                self._sockets[peer] = connection
            for _ in range(self._rank + 1, self._size):
                connection, _ = listener.accept()
                connection.settimeout(timeout)
                (peer,) = struct.unpack("!q", read_exactly(connection, 8))
                self._sockets[peer] = connection
        for connection in self._sockets.values():
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _read(self, peer: int) -> None:
        connection = self._sockets[peer]
        cause = "ended"
        with contextlib.suppress(OSError):
            while True:
                frame = read_exactly(connection, _FRAME.size)
                channel, number, nbytes = _FRAME.unpack(frame)
                data = self._buffer(nbytes)
                read_into(connection, data)
                if channel == _QUESTION:
                    self.post(peer, _ANSWER, 0, self._where().encode())
                elif channel == _LEAVE:
                    cause = "left"
                    with self._changed:  # because of those that had ended
                        for (lost,) in struct.iter_unpack("!q", data):
                            self._gone.setdefault(lost, "ended")
                else:
                    with self._changed:
                        self._inbox[peer, (channel, number)].append(data)
                        self._changed.notify_all()
        with self._changed:
            self._gone[peer] = cause
            self._changed.notify_all()

    def post(self, peer: int, channel: int, number: int, *parts: Buffer) -> None:
        """Sends without waiting for the receiver."""
        if peer == self._rank:
            with self._changed:
                self._inbox[peer, (channel, number)].append(bytearray().join(parts))
                self._changed.notify_all()
            return
        frame = _FRAME.pack(channel, number, sum(map(len, parts)))
        self._outbox[peer].put(frame, *parts)

    def flush(self, end: float) -> None:
        """Waits until the connections have taken all messages."""
        late = [p for p, outbox in self._outbox.items() if not outbox.flush(end)]
        if late:
            raise Failure("timed out", late)

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
        for peer, outbox in self._outbox.items():
            self.post(peer, _LEAVE, 0, struct.pack(f"!{len(ended)}q", *ended))
            outbox.close()
        for outbox in self._outbox.values():
            outbox.join(2)
        for connection in self._sockets.values():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
            connection.close()

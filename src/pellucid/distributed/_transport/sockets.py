"""Links over TCP: one connection per pair of ranks, each read by a thread. What a
connection takes at once is sent by the calling thread, the rest by one of its own
(``outbox.py``).
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable

from pellucid.distributed._distributed import Failure
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.wire import read_exactly, read_into
from pellucid.distributed._transport.messages import Buffer
from pellucid.distributed._transport.outbox import Outbox
from pellucid.distributed._transport.read_links import FRAME, ReadLinks


class SocketLinks(ReadLinks):
    """Connects on construction; addresses are exchanged through the store."""

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
        super().__init__(rank, size, where, on_wait)
        self._sockets: dict[int, socket.socket] = {}
        self._connect(store, host, timeout)
        self._outbox = {peer: Outbox(each) for peer, each in self._sockets.items()}
        self._start()

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

    def _receive(self, peer: int) -> tuple[int, int, bytearray]:
        connection = self._sockets[peer]
        frame = read_exactly(connection, FRAME.size)
        channel, number, nbytes = FRAME.unpack(frame)
        data = self._buffer(nbytes)
        read_into(connection, data)
        return channel, number, data

    def _put(self, peer: int, frame: bytes, *parts: Buffer) -> None:
        self._outbox[peer].put(frame, *parts)

    def flush(self, end: float) -> None:
        """Waits until the connections have taken all messages."""
        late = [p for p, outbox in self._outbox.items() if not outbox.flush(end)]
        if late:
            raise Failure("timed out", late)

    def _end(self) -> None:
        for outbox in self._outbox.values():
            outbox.close()
        for outbox in self._outbox.values():
            outbox.join(2)
        for connection in self._sockets.values():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
            connection.close()

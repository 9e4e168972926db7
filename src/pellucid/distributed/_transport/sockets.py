"""Links over TCP: one connection per pair of ranks, each read by a thread. What a
connection takes at once is sent by the calling thread, the rest by one of its own
(``outbox.py``).
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable

from pellucid.distributed._distributed import Failure
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.watched_store import ASK_SECONDS, ask_for_losses
from pellucid.distributed._stores.wire import read_exactly, read_into
from pellucid.distributed._transport.messages import Buffer
from pellucid.distributed._transport.outbox import Outbox
from pellucid.distributed._transport.read_links import FRAME, ReadLinks

_NOTICE_SECONDS = 1.0  # until it is known that a rank has ended


def _accepted(listener: socket.socket, store: Store, end: float) -> socket.socket:
    """The next connection; raises if a rank that has not called has ended, or at the
    end.
    """
    while True:
        try:
            return listener.accept()[0]
        except TimeoutError:
            ask_for_losses(store)
            if time.monotonic() > end:
                raise


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
            listener.settimeout(ASK_SECONDS)
            own_host, own_port = listener.getsockname()[:2]
            store.set(f"address/{self._rank}", f"{own_host} {own_port}")
            try:
                for peer in range(self._rank):
                    address = store.get(f"address/{peer}").decode()
                    self._sockets[peer] = self._call(address, timeout)
                end = time.monotonic() + timeout
                while len(self._sockets) < self._size - 1:
                    connection = _accepted(listener, store, end)
                    connection.settimeout(timeout)
                    (peer,) = struct.unpack("!q", read_exactly(connection, 8))
                    self._sockets[peer] = connection
            except OSError:
                ask_for_losses(store, _NOTICE_SECONDS)
                raise
        for connection in self._sockets.values():
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _call(self, address: str, timeout: float) -> socket.socket:
        host, port = address.split()
        connection = socket.create_connection((host, int(port)), timeout)
        connection.sendall(struct.pack("!q", self._rank))
        return connection

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

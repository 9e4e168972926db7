"""The server of a TCPStore: one table, one thread per connection."""

from __future__ import annotations

import contextlib
import socket
import threading

from pellucid.distributed._stores.errors import DistNetworkError
from pellucid.distributed._stores.table import Empty, Missing, Table
from pellucid.distributed._stores.wire import receive_fields, send_fields


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("", port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise DistNetworkError(
            f"the store cannot listen on port {port}: {error.strerror} (EADDRINUSE: "
            "another process has it). Set another MASTER_PORT, or use port 0 or "
            "`python -m pellucid.distributed.run --standalone`, which take a free one"
        ) from None
    return listener


class Server:
    """Serves until it is stopped or the process ends."""

    def __init__(self, host: str, port: int, descriptor: int | None) -> None:
        if descriptor is None:
            self._listener = _listen(host, port)
        else:
            self._listener = socket.socket(fileno=descriptor)
        self.port: int = self._listener.getsockname()[1]
        self.table = Table()
        self._connections: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True, name="store").start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # stopped
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections.add(connection)
            answer = threading.Thread(
                target=self._answer, args=(connection,), daemon=True, name="store"
            )
            answer.start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                name, timeout, *fields = receive_fields(connection)
                request = name.decode()
                try:
                    reply = self.table.request(request, fields, float(timeout))
                    send_fields(connection, [b"ok", *reply])
                except Missing as missing:
                    send_fields(connection, [b"missing", *missing.keys])
                except Empty:
                    send_fields(connection, [b"empty"])
        self._connections.discard(connection)
        connection.close()

    def stop(self) -> None:
        """Closes the port and the connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

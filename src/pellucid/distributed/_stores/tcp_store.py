"""``TCPStore``: a store in one process, accessed over TCP by all."""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import threading
import time
from typing import Any

from pellucid.distributed._stores.errors import DistNetworkError, DistStoreError
from pellucid.distributed._stores.store import DEFAULT_TIMEOUT, Store, seconds_of
from pellucid.distributed._stores.table import Empty, Fields, Missing
from pellucid.distributed._stores.tcp_server import Server
from pellucid.distributed._stores.wire import receive_fields, send_fields

_servers: dict[int, Server] = {}  # by port, for `multi_tenant`


class TCPStore(Store):
    """A store whose values are in the process with ``is_master=True``, which listens on
    ``port`` (0: a free one, see ``.port``). The master waits for ``world_size``
    processes to connect unless ``wait_for_workers`` is False.

    Example: ``TCPStore("localhost", 0, 1, True).add("n", 2) == 2``.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: datetime.timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if not 0 <= port < 65536:
            raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
        self.host, self._seconds, self._pid = (
            host_name,
            seconds_of(timeout),
            os.getpid(),
        )
        self._server: Server | None = None
        if is_master:
            self._server = _servers.get(port) if multi_tenant else None
            if self._server is None:
                self._server = Server(host_name, port, master_listen_fd)
                _servers[self._server.port] = self._server
        self.port = self._server.port if self._server else port
        self._address = "127.0.0.1" if self._server else host_name
        self._lock = threading.Lock()
        self._free: list[socket.socket] = []
        self._free.append(self._connect(self._seconds))
        if wait_for_workers and world_size:
            self._await_workers(is_master, world_size)

    def _await_workers(self, is_master: bool, world_size: int) -> None:
        if self.add("init/workers", 1) % world_size == 0:
            self.set("init/ready", "1")
        if is_master:
            try:
                self.wait(["init/ready"])
            except DistStoreError:
                count = self.add("init/workers", 0)
                raise DistStoreError(
                    f"Timed out after {self._seconds:g} seconds waiting for clients. "
                    f"{count}/{world_size} clients joined. Start the other ranks with "
                    f"MASTER_ADDR and MASTER_PORT of {self._address}:{self.port}, or "
                    "give the world_size that there is"
                ) from None

    def _connect(self, seconds: float) -> socket.socket:
        end = time.monotonic() + seconds
        wait = 0.01
        while True:
            try:
                address = self._address, self.port
                connection = socket.create_connection(address, timeout=10)
            except OSError as error:
                if time.monotonic() + wait > end:
                    raise DistNetworkError(
                        f"no store answers at {self._address}:{self.port} after "
                        f"{seconds:g} s ({error}); start rank 0's process, "
                        "and see that MASTER_ADDR and MASTER_PORT are its own"
                    ) from None
                time.sleep(wait)
                wait = min(2 * wait, 0.5)
                continue
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection

    def _take(self) -> socket.socket:
        with self._lock:
            if self._pid != os.getpid():  # forked: the connections belong to the parent
                self._free, self._server, self._pid = [], None, os.getpid()
            if self._free:
                return self._free.pop()
        return self._connect(0)  # the server is running, or has ended

    def _request(self, name: str, fields: Fields, timeout: float) -> Fields:
        if self._server is not None and self._pid == os.getpid():
            return self._server.table.request(name, fields, timeout)
        connection = self._take()
        try:
            send_fields(connection, [name.encode(), b"%r" % timeout, *fields])
            status, *reply = receive_fields(connection)
        except OSError as error:
            connection.close()
            raise DistNetworkError(
                f"the store at {self.host}:{self.port} has gone ({error}): the process "
                "that held it, usually rank 0 or the launcher, has ended"
            ) from None
        except BaseException:  # Ctrl-C: the reply is still pending
            connection.close()
            raise
        with self._lock:
            self._free.append(connection)
        if status == b"missing":
            raise Missing(reply)
        if status == b"empty":
            raise Empty
        return reply

    @property
    def libuvBackend(self) -> bool:
        """False: the server is written in Python."""
        return False

    def close(self) -> None:
        """Ends the connections, and the server if it is this process's."""
        with self._lock:
            for connection in self._free:
                connection.close()
            self._free.clear()
        if self._server is not None:
            _servers.pop(self._server.port, None)
            self._server.stop()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if self._pid == os.getpid():
                self.close()

    def __reduce__(self) -> Any:
        timeout = datetime.timedelta(seconds=self._seconds)
        return TCPStore, (self.host, self.port, None, False, timeout, False)

"""What is to be written to a connection: ``sockets.py`` has one for each peer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque

from pellucid.distributed._transport.messages import Buffer

_MOST_PARTS = 64  # of one call; systems allow 1024


class Outbox:
    """Messages in order. ``put`` writes what the connection takes at once; a thread
    writes the rest, and it starts when there first is one.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._changed = threading.Condition()
        self._waiting: deque[memoryview] = deque()
        self._is_writing = self._is_closed = False
        self._thread: threading.Thread | None = None

    def put(self, *parts: Buffer) -> None:
        """Sends a message, or drops it if the peer is gone."""
        views = [memoryview(part).cast("B") for part in parts if len(part)]
        with self._changed:
            if self._is_closed:
                return
            if not self._waiting and not self._is_writing:
                views = self._write(views, socket.MSG_DONTWAIT)
            if views:
                self._waiting += views
                self._start()
                self._changed.notify_all()

    def _write(self, views: list[memoryview], flags: int = 0) -> list[memoryview]:
        """Writes once; returns the rest, which is empty if the peer is gone."""
        try:
            count = self._connection.sendmsg(views, [], flags)
        except BlockingIOError:
            return views
        except OSError:
            return []
        while views and count >= len(views[0]):
            count -= len(views.pop(0))
        return [views[0][count:], *views[1:]] if count else views

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()
                while not self._waiting and not self._is_closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                count = min(len(self._waiting), _MOST_PARTS)
                views = [self._waiting.popleft() for _ in range(count)]
                self._is_writing = True
            while views:
                views = self._write(views)

    def flush(self, end: float) -> bool:
        """Whether all was written by ``end`` (a time.monotonic())."""
        with self._changed:
            while self._waiting or self._is_writing:
                if not self._changed.wait(end - time.monotonic()):
                    return False
        return True

    def close(self) -> None:
        """Nothing more is put."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Waits until all is written, then ends the connection in this direction."""
        self.flush(time.monotonic() + seconds)
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

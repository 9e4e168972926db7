"""Messages between workers: a header, and a pickle."""

from __future__ import annotations

import io
import pickle
import socket
import struct
import threading
from typing import Any

from pellucid.distributed._stores.wire import read_exactly

CALL, RESULT, ERROR, RECEIVED = range(4)
_HEADER = struct.Struct("!BQQ")
KEY_BYTES = 32

# References that this thread is pickling: they are held until the receiver has them.
_pickling = threading.local()


def note_reference(reference: Any) -> None:
    """Called by a reference that is being pickled."""
    held = getattr(_pickling, "held", None)
    if held is None:
        raise RuntimeError(
            "an RRef can be pickled in calls of torch.distributed.rpc alone"
        )
    held.append(reference)


def dump(value: Any) -> tuple[bytes, list[Any]]:
    """The pickle, and the references in it."""
    file = io.BytesIO()
    _pickling.held = []
    try:
        pickle.Pickler(file, protocol=5).dump(value)
        return file.getvalue(), _pickling.held
    finally:
        _pickling.held = None


def load(data: bytes) -> Any:
    """The value."""
    return pickle.loads(data)


def send(connection: socket.socket, kind: int, number: int, data: bytes) -> None:
    """Writes a message; the caller holds the connection's lock."""
    header = _HEADER.pack(kind, number, len(data))
    if len(data) < 1 << 16:
        connection.sendall(header + data)
    else:
        connection.sendall(header)
        connection.sendall(data)


def receive(connection: socket.socket) -> tuple[int, int, bytes]:
    """Reads a message; ConnectionError when the other side has closed."""
    header = read_exactly(connection, _HEADER.size)
    kind, number, nbytes = _HEADER.unpack(header)
    return kind, number, read_exactly(connection, nbytes)

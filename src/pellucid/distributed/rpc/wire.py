"""Messages between workers: a header, a pickle, and the memory of large storages.

A storage from 16 KiB on is not a part of the pickle: it is written from where it is,
and received into the memory that the new storage has.
"""

from __future__ import annotations

import io
import pickle
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pellucid as torch
from pellucid._C import StorageBase
from pellucid._tensor.copying import _rebuild_tensor

CALL, RESULT, ERROR, RECEIVED = range(4)
HOLDS = 8  # added to a kind: the sender holds references until it hears RECEIVED
_HEADER = struct.Struct("!BQQQ")
_LENGTH = struct.Struct("!Q")
KEY_BYTES = 32
_SEPARATE_BYTES = 1 << 14
_JOINED_BYTES = 1 << 16  # up to here one write is cheaper than two

# References that this thread is pickling: they are held until the receiver has them.
_pickling = threading.local()


class Pickled(NamedTuple):
    """A pickle, and the memory of the storages beside it."""

    data: bytes
    buffers: list[Any]


class Message(NamedTuple):
    """What has been received."""

    kind: int
    number: int
    content: Pickled


def note_reference(reference: Any) -> None:
    """Called by a reference that is being pickled."""
    held = getattr(_pickling, "held", None)
    if held is None:
        raise RuntimeError(
            "an RRef can be pickled in calls of torch.distributed.rpc alone"
        )
    held.append(reference)


# The context of distributed autograd that this thread is in (gradients.py), or None.
_recording = threading.local()


def recording_context() -> Any:
    """This thread's context, which notes tensors that leave in messages."""
    return getattr(_recording, "context", None)


def set_recording_context(context: Any) -> None:
    """Until it is set again."""
    _recording.context = context


@contextmanager
def recording(context: Any) -> Iterator[None]:
    """Inside of the ``with`` block the thread is in another context, or in none."""
    before = recording_context()
    _recording.context = context
    try:
        yield
    finally:
        _recording.context = before


def _storage_over(buffer: Any) -> Any:
    return torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()


def _needs_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


class _Pickler(pickle.Pickler):
    """Writes storages as buffers; tensors that share one still do."""

    def __init__(self, file: Any, take: Any) -> None:
        super().__init__(file, 5, buffer_callback=take)
        self._storages: dict[int, Any] = {}
        recorded = torch.is_grad_enabled()
        self._context: Any = recording_context() if recorded else None
        self._message: Any = None

    def reducer_override(self, value: Any) -> Any:
        leaves = self._context is not None and _needs_gradient(value)
        if leaves or (type(value) is torch.Tensor and not value.__dict__):
            own = value.untyped_storage()
            storage = self._storages.setdefault(own._cdata, own)
            place = value.storage_offset(), tuple(value.shape), value.stride()
            facts = storage, value.dtype, *place, value.requires_grad
            if not leaves:
                return _rebuild_tensor, facts
            self._message = self._message or self._context.tick()
            return self._context.leave(self._message, value, facts)
        if isinstance(value, StorageBase) and value.nbytes():
            whole = torch.empty(0, dtype=torch.uint8).set_(value)
            return _storage_over, (pickle.PickleBuffer(whole._buffer(True)),)
        return NotImplemented


def dump(value: Any) -> tuple[Pickled, list[Any]]:
    """The pickle, and the references in it."""
    file = io.BytesIO()
    raws: list[memoryview] = []

    def take(buffer: pickle.PickleBuffer) -> bool:
        """Whether it becomes a part of the pickle."""
        raw = buffer.raw()
        is_small = raw.nbytes < _SEPARATE_BYTES
        if not is_small:
            raws.append(raw)
        return is_small

    _pickling.held = []
    try:
        _Pickler(file, take).dump(value)
        return Pickled(file.getvalue(), raws), _pickling.held
    finally:
        _pickling.held = None


def load(content: Pickled) -> Any:
    """The value."""
    return pickle.loads(content.data, buffers=content.buffers)


def send(connection: socket.socket, kind: int, number: int, content: Pickled) -> None:
    """Writes a message; the caller holds the connection's lock."""
    data, buffers = content
    header = _HEADER.pack(kind, number, len(data), len(buffers))
    lengths = b"".join(_LENGTH.pack(buffer.nbytes) for buffer in buffers)
    if len(data) < _JOINED_BYTES:
        connection.sendall(header + lengths + data)
    else:
        connection.sendall(header + lengths)
        connection.sendall(data)
    for buffer in buffers:
        connection.sendall(buffer)


class Reader:
    """The messages that arrive at a connection, for one thread at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._file: Any = connection.makefile("rb", _JOINED_BYTES)

    def read(self, nbytes: int) -> bytes:
        """So many bytes; ConnectionError when the other side has closed."""
        found: bytes = self._file.read(nbytes)
        if len(found) < nbytes:
            raise ConnectionError("the other side has closed the connection")
        return found

    def _fill(self, nbytes: int) -> Any:
        memory = torch.empty(nbytes, dtype=torch.uint8)._buffer(True)
        left = memoryview(memory).cast("B")
        while left.nbytes:
            count = self._file.readinto(left)
            if not count:
                raise ConnectionError("the other side has closed the connection")
            left = left[count:]
        return memory

    def receive(self) -> Message:
        """The next message; ConnectionError when the other side has closed."""
        kind, number, nbytes, count = _HEADER.unpack(self.read(_HEADER.size))
        lengths = self.read(count * _LENGTH.size)
        data = self.read(nbytes)
        buffers = [self._fill(length) for (length,) in _LENGTH.iter_unpack(lengths)]
        return Message(kind, number, Pickled(data, buffers))

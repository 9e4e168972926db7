"""Messages between workers: a header, a pickle, and the memory of large storages.

Storages of at least 16 KiB are not part of the pickle: they are written from their
memory and received directly into the memory of the new storage. Between processes of
one machine the receiver itself copies storages of at least 256 KiB, if the sender waits
for it.
"""

from __future__ import annotations

import ctypes
import io
import pickle
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pellucid as torch
from pellucid import _C
from pellucid._C import StorageBase
from pellucid._tensor.dtype_names import TYPE_NAMES
from pellucid.distributed._distributed import read_memory

CALL, RESULT, ERROR, RECEIVED = range(4)
# Added to a kind: the sender keeps references and memory until it gets RECEIVED; the
# receiver reads the sender's memory at the given addresses.
HOLDS, READS = 8, 16
_HEADER = struct.Struct("!BQQQ")
_LENGTH = struct.Struct("!Q")
KEY_BYTES = 32
_SEPARATE_BYTES = 1 << 14
_READ_BYTES = 1 << 18
_JOINED_BYTES = 1 << 16  # below this size one write is cheaper than two
_DTYPES = tuple(TYPE_NAMES)
_DTYPE_CODES = {dtype: code for code, dtype in enumerate(_DTYPES)}

# References that this thread is pickling: kept until the receiver has them.
_pickling = threading.local()


class Pickled(NamedTuple):
    """A pickle, and the memory of separate storages."""

    data: bytes
    buffers: list[Any]


class Message(NamedTuple):
    """A received message."""

    kind: int
    number: int
    content: Pickled


def note_reference(reference: Any) -> None:
    """Called when a reference is pickled."""
    held = getattr(_pickling, "held", None)
    if held is None:
        raise RuntimeError(
            "an RRef can only be pickled in calls of torch.distributed.rpc"
        )
    held.append(reference)


# The context of distributed autograd that this thread is in (gradients.py), or None.
_recording = threading.local()


def recording_context() -> Any:
    """This thread's context, which records tensors sent in messages."""
    return getattr(_recording, "context", None)


def set_recording_context(context: Any) -> None:
    """Sets this thread's context."""
    _recording.context = context


@contextmanager
def recording(context: Any) -> Iterator[None]:
    """A scope in which the thread is in another context, or in none."""
    before = recording_context()
    _recording.context = context
    try:
        yield
    finally:
        _recording.context = before


def _bytes_of(storage: Any) -> Any:
    """A buffer that keeps its memory alive."""
    nbytes = storage.nbytes()
    return _C._tensor_over(storage, torch.uint8, 0, (nbytes,), (1,))._buffer(True)


def _needs_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _taker(buffers: list[Any]) -> Callable[[pickle.PickleBuffer], bool]:
    """Whether a buffer becomes a part of the pickle; otherwise it is added to the list.
    Not a method: a cycle through the pickler would keep its storages until garbage
    collection.
    """

    def take(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        is_small = raw.nbytes < _SEPARATE_BYTES
        if not is_small:
            buffers.append(raw)
        return is_small

    return take


class _Pickler(pickle.Pickler):
    """Writes tensors as metadata and storages as bytes, in the pickle or separately;
    tensors that share a storage still do. Globals, looked up by name, are slow.
    """

    def __init__(self, file: Any, buffers: list[Any]) -> None:
        super().__init__(file, 5, buffer_callback=_taker(buffers))
        self._buffers = buffers
        self._storages: dict[int, tuple[int, Any]] = {}
        recorded = torch.is_grad_enabled()
        self._context: Any = recording_context() if recorded else None
        self._message: Any = None

    def _storage(self, storage: Any) -> tuple[int, Any]:
        """A storage's number, and its content if it is new: True means the next
        buffer.
        """
        address = storage._cdata
        known = self._storages.get(address)
        if known is not None:
            return known[0], None
        number = len(self._storages)
        self._storages[address] = number, storage
        if not storage.nbytes():
            return number, b""
        memory = memoryview(_bytes_of(storage))
        if memory.nbytes < _SEPARATE_BYTES:
            return number, bytes(memory)
        self._buffers.append(memory)
        return number, True

    def persistent_id(self, value: Any) -> Any:
        """The persistent ids of tensors, storages and dtypes."""
        kind = type(value)
        if kind is torch.Tensor:
            recorded = self._context is not None and value.requires_grad
            if recorded or value.__dict__ or value.layout is not torch.strided:
                return None
            facts = value.storage_offset(), tuple(value.shape), value.stride()
            code = _DTYPE_CODES[value.dtype]
            storage = self._storage(value.untyped_storage())
            return (*storage, code, *facts, value.requires_grad)
        if kind is torch.dtype:
            return _DTYPE_CODES[value]
        return self._storage(value) if isinstance(value, StorageBase) else None

    def reducer_override(self, value: Any) -> Any:
        if self._context is None or not _needs_gradient(value):
            return NotImplemented
        place = value.storage_offset(), tuple(value.shape), value.stride()
        facts = value.untyped_storage(), value.dtype, *place, value.requires_grad
        self._message = self._message or self._context.tick()
        return self._context.leave(self._message, value, facts)


class _Unpickler(pickle.Unpickler):
    """Reads what a ``_Pickler`` has written."""

    def __init__(self, content: Pickled) -> None:
        self._buffers = iter(content.buffers)
        super().__init__(io.BytesIO(content.data), buffers=self._buffers)
        self._storages: list[Any] = []

    def _storage(self, number: int, memory: Any) -> Any:
        if memory is not None:
            if memory == b"":
                whole = torch.empty(0)
            else:
                own = next(self._buffers) if memory is True else bytearray(memory)
                whole = torch.frombuffer(own, dtype=torch.uint8)
            self._storages.append(whole.untyped_storage())
        return self._storages[number]

    def persistent_load(self, facts: Any) -> Any:
        """A tensor, a storage or a dtype."""
        if isinstance(facts, int):
            return _DTYPES[facts]
        storage = self._storage(facts[0], facts[1])
        if len(facts) == 2:
            return storage
        _, _, code, offset, shape, stride, requires_grad = facts
        made = _C._tensor_over(storage, _DTYPES[code], offset, shape, stride)
        if requires_grad:
            made.requires_grad = True
        return made


def dump(value: Any) -> tuple[Pickled, list[Any]]:
    """The pickle, and the references in it."""
    file = io.BytesIO()
    raws: list[Any] = []
    _pickling.held = []
    try:
        _Pickler(file, raws).dump(value)
        return Pickled(file.getvalue(), raws), _pickling.held
    finally:
        _pickling.held = None


def load(content: Pickled) -> Any:
    """The value."""
    return _Unpickler(content).load()


def is_to_be_read(content: Pickled) -> bool:
    """Whether a receiver that can read the sender's memory should do so."""
    buffers = content.buffers
    return any(b.nbytes >= _READ_BYTES for b in buffers) and not any(
        b.readonly for b in buffers
    )


def address_of(buffer: Any) -> int:
    """The address of the first byte."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def send(connection: socket.socket, kind: int, number: int, content: Pickled) -> None:
    """Writes a message; the caller holds the connection's lock, and for kinds with
    READS keeps the content until it has been received.
    """
    data, buffers = content
    header = _HEADER.pack(kind, number, len(data), len(buffers))
    lengths = b"".join(_LENGTH.pack(buffer.nbytes) for buffer in buffers)
    if kind & READS:
        lengths += b"".join(_LENGTH.pack(address_of(buffer)) for buffer in buffers)
    if len(data) < _JOINED_BYTES:
        connection.sendall(header + lengths + data)
    else:
        connection.sendall(header + lengths)
        connection.sendall(data)
    if not kind & READS:
        for buffer in buffers:
            connection.sendall(buffer)


class Reader:
    """The messages that arrive at a connection, for one thread at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.pid = 0  # the other side's pid, if its memory can be read
        self._memory = bytearray(_JOINED_BYTES)
        self._view = memoryview(self._memory)
        self._first = self._end = 0  # received but unread bytes
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)

    def waits(self, seconds: float) -> bool:
        """Whether nothing arrives for so many seconds."""
        return self._first == self._end and not self._poll.poll(1000 * seconds)

    def read(self, nbytes: int) -> bytes:
        """Receives so many bytes; ConnectionError if the other side has closed."""
        if nbytes > len(self._memory):
            found = bytearray(nbytes)
            self._read_into(memoryview(found))
            return bytes(found)
        if self._end - self._first < nbytes:
            self._fetch(nbytes)
        first, self._first = self._first, self._first + nbytes
        return bytes(self._view[first : self._first])

    def _fetch(self, nbytes: int) -> None:
        left = self._end - self._first
        self._view[:left] = self._view[self._first : self._end]
        self._first, self._end = 0, left
        while self._end < nbytes:
            self._end += self._take(self._view[self._end :])

    def _take(self, target: memoryview) -> int:
        count = self._connection.recv_into(target)
        if not count:
            raise ConnectionError("the other side has closed the connection")
        return count

    def _read_into(self, target: memoryview) -> None:
        ready = min(self._end - self._first, target.nbytes)
        target[:ready] = self._view[self._first : self._first + ready]
        self._first += ready
        while ready < target.nbytes:
            ready += self._take(target[ready:])

    def has_more(self) -> bool:
        """Whether the next message has begun to arrive."""
        return self._first < self._end

    def _fill(self, nbytes: int, address: int) -> Any:
        memory = torch.empty(nbytes, dtype=torch.uint8)._buffer(True)
        target = memoryview(memory).cast("B")
        if not address:
            self._read_into(target)
        elif not read_memory(self.pid, address, target):
            raise ConnectionError(f"the memory of process {self.pid} cannot be read")
        return memory

    def receive(self) -> Message:
        """The next message; ConnectionError if the other side has closed."""
        kind, number, nbytes, count = _HEADER.unpack(self.read(_HEADER.size))
        if not count:
            return Message(kind, number, Pickled(self.read(nbytes), []))
        lengths = self._numbers(count)
        addresses = self._numbers(count) if kind & READS else (0,) * count
        data = self.read(nbytes)
        return Message(
            kind & ~READS,
            number,
            Pickled(data, list(map(self._fill, lengths, addresses))),
        )

    def _numbers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"!{count}Q", self.read(count * _LENGTH.size))

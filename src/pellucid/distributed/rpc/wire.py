"""Messages between workers: a header, a value, and the memory of large storages.

A value of plain types, such as a small tensor, is packed by the runtime, which takes a
twentieth of the time of a pickle; all others are pickled. Storages of at least 16 KiB
are not part of the pickle: they are written from their memory and received directly
into the memory of the new storage. Between processes of one machine the receiver itself
copies storages of at least 256 KiB, if the sender waits for it.
"""

from __future__ import annotations

import ctypes
import importlib
import io
import pickle
import socket
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import pellucid as torch
from pellucid import _C
from pellucid._C import StorageBase
from pellucid._tensor.dtype_names import TYPE_NAMES
from pellucid.distributed._distributed import Connection, read_memory

CALL, RESULT, ERROR, RECEIVED = range(4)
# Added to a kind: the sender keeps references and memory until it gets RECEIVED; the
# receiver reads the sender's memory at the given addresses.
HOLDS, READS = 8, 16
_PLAIN = 32  # the value is packed, not pickled
# A connection begins with the job's key and this: the caller's rank, and whether it can
# read the other's memory. The answer says whether the other can read the caller's.
GREETING = struct.Struct("!Q?")
YES, NO = b"\1", b"\0"
KEY_BYTES = 32
_SEPARATE_BYTES = 1 << 14
_READ_BYTES = 1 << 18
_DTYPES = tuple(TYPE_NAMES)
_DTYPE_CODES = {dtype: code for code, dtype in enumerate(_DTYPES)}

# References that this thread is pickling: kept until the receiver has them.
_pickling = threading.local()


class Message(NamedTuple):
    """A packed value, or a pickle and the memory of separate storages."""

    data: bytes
    buffers: list[Any]
    is_plain: bool = False
    kind: int = CALL
    number: int = 0  # of the call


def note_reference(reference: Any) -> None:
    """Called when a reference is pickled."""
    references = getattr(_pickling, "held", None)
    if references is None:
        raise RuntimeError(
            "an RRef can only be pickled in calls of torch.distributed.rpc"
        )
    references.append(reference)


# The context of distributed autograd that this thread is in (gradients.py), or None.
_recording = threading.local()


def recording_context() -> Any:
    """This thread's context, which records tensors sent in messages."""
    return getattr(_recording, "context", None)


def set_recording_context(context: Any) -> None:
    """Sets this thread's context."""
    _recording.context = context


class recording:
    """A scope in which the thread is in another context, or in none."""

    __slots__ = ("_before", "_context")

    def __init__(self, context: Any) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._before = recording_context()
        _recording.context = self._context

    def __exit__(self, *exception: object) -> None:
        _recording.context = self._before


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

    def __init__(self, content: Message) -> None:
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
        tensor = _C._tensor_over(storage, _DTYPES[code], offset, shape, stride)
        if requires_grad:
            tensor.requires_grad = True
        return tensor


def dump(value: Any) -> tuple[Message, list[Any]]:
    """The value's content, and the references in it."""
    packed = _C._pack_plain(value, _SEPARATE_BYTES)
    return _pickled(value) if packed is None else (Message(packed, [], True), [])


def dump_call(call: Any, context: Any) -> tuple[Message, list[Any]]:
    """The same, of a function, its arguments and keywords, in a context of distributed
    autograd, or None.
    """
    function, args, kwargs = call
    name = _global_name(function) if context is None else None
    if name is not None:
        packed = _C._pack_plain((*name, args, kwargs), _SEPARATE_BYTES)
        if packed is not None:
            return Message(packed, [], True), []
    return _pickled((function, args, kwargs, context))


def _global_name(function: Any) -> tuple[str, str] | None:
    """The module and the name of a global; None: it is none."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None)
    if module is None or name is None:
        return None
    value = getattr(sys.modules.get(module), name, None)
    return (module, name) if value is function else None


def _pickled(value: Any) -> tuple[Message, list[Any]]:
    file = io.BytesIO()
    raws: list[Any] = []
    _pickling.held = []
    try:
        _Pickler(file, raws).dump(value)
        return Message(file.getvalue(), raws), _pickling.held
    finally:
        _pickling.held = None


def load(content: Message) -> Any:
    """The value."""
    if content.is_plain:
        return _C._unpack_plain(content.data)
    return _Unpickler(content).load()


def load_call(content: Message) -> Any:
    """The function, its arguments and the context of a call."""
    if not content.is_plain:
        return _Unpickler(content).load()
    module, name, args, kwargs = _C._unpack_plain(content.data)
    loaded = sys.modules.get(module) or importlib.import_module(module)
    return getattr(loaded, name), args, kwargs, None


def is_to_be_read(content: Message) -> bool:
    """Whether a receiver that can read the sender's memory does that."""
    buffers = content.buffers
    if not buffers or any(buffer.readonly for buffer in buffers):
        return False
    return any(buffer.nbytes >= _READ_BYTES for buffer in buffers)


def address_of(buffer: Any) -> int:
    """The address of the first byte."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


class Channel:
    """A connection, for one thread at a time that sends and one that receives."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(None)
        self._connection = Connection(connection.detach())
        self.pid = 0  # of the other side, whose memory this one may read
        self.read, self.write = self._connection.read, self._connection.write
        self.has_more = self._connection.has_more
        self.shut_down = self._connection.shut_down

    def send(self, kind: int, number: int, content: Message) -> None:
        """Writes a message; the caller holds the content until it has been received,
        where the kind is of READS.
        """
        marked = kind | _PLAIN if content.is_plain else kind
        reads = kind & READS
        self._connection.send(marked, number, content.data, content.buffers, reads)

    def receive(self, seconds: float = 0.0) -> Message | None:
        """The next message; None: there is none within so many seconds (0: it waits).
        ConnectionError when the other side has closed.
        """
        received = self._connection.receive(seconds)
        if received is None:
            return None
        kind, number, data, lengths, addresses = received
        buffers = []
        if lengths:
            sources = addresses or (0,) * len(lengths)
            buffers = list(map(self._fill, lengths, sources))
        is_plain = kind & _PLAIN != 0
        return Message(data, buffers, is_plain, kind & ~(READS | _PLAIN), number)

    def _fill(self, nbytes: int, address: int) -> Any:
        memory = torch.empty(nbytes, dtype=torch.uint8)._buffer(True)
        target = memoryview(memory).cast("B")
        if not address:
            self._connection.read_into(target)
        elif not read_memory(self.pid, address, target):
            raise ConnectionError(f"the memory of process {self.pid} cannot be read")
        return memory

"""Batches from one process to another: tensors through shared memory, the rest pickled.

The memory is a file without a name, whose descriptor travels with the message: it
vanishes with the last process that maps it. Small batches travel in the message itself.
Used by ``_workers.py``.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import pellucid
from pellucid import Tensor

_SMALL = 32768  # bytes up to which copying through the socket is faster than mapping
_ALIGNMENT = 64


def _places(tensors: list[Tensor]) -> tuple[list[int], int]:
    """(where each tensor starts, the bytes of all)."""
    starts, end = [], 0
    for tensor in tensors:
        starts.append(end)
        size = tensor.numel() * tensor.dtype.itemsize
        end += -(-size // _ALIGNMENT) * _ALIGNMENT
    return starts, end


def _view(memory: Any, start: int, dtype: Any, shape: tuple[int, ...]) -> Tensor:
    count = 1
    for n in shape:
        count *= n
    if not count:
        return pellucid.empty(shape, dtype=dtype)
    flat = pellucid.frombuffer(memory, dtype=dtype, count=count, offset=start)
    return flat.view(shape)


class _Packer(pickle.Pickler):
    """Pickles everything but plain tensors, which it collects."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.tensors: list[Tensor] = []

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not Tensor:
            return None
        self.tensors.append(obj)
        return len(self.tensors) - 1


class _Unpacker(pickle.Unpickler):
    """Puts the collected tensors back."""

    def __init__(self, file: io.BytesIO, tensors: list[Tensor]) -> None:
        super().__init__(file)
        self._tensors = tensors

    def persistent_load(self, pid: Any) -> Tensor:
        result: Tensor = self._tensors[pid]
        return result


def send(connection: Connection, obj: Any) -> None:
    """Sends ``obj`` with its tensors; ``receive`` is the other end."""
    text = io.BytesIO()
    packer = _Packer(text)
    packer.dump(obj)
    tensors = packer.tensors
    starts, size = _places(tensors)
    described = [
        (s, t.dtype, tuple(t.shape)) for s, t in zip(starts, tensors, strict=True)
    ]
    is_small = size <= _SMALL
    fd = -1
    memory: Any = bytearray(size)
    if not is_small:
        fd = os.memfd_create("pellucid-batch", os.MFD_CLOEXEC)
        os.ftruncate(fd, size)
        memory = mmap.mmap(fd, size)
    try:
        for tensor, place in zip(tensors, described, strict=True):
            if tensor.numel():
                _view(memory, *place).copy_(tensor.detach())
        inline = bytes(memory) if is_small else None
        connection.send_bytes(
            pickle.dumps(
                (text.getvalue(), described, size, inline), pickle.HIGHEST_PROTOCOL
            )
        )
        if not is_small:
            reduction.send_handle(connection, fd, None)
    finally:
        if fd >= 0:
            os.close(fd)


def receive(connection: Connection) -> Any:
    """What ``send`` sent; raises EOFError when the other end is closed."""
    text, described, size, inline = pickle.loads(connection.recv_bytes())
    if inline is not None:
        memory: Any = bytearray(inline)
    else:
        fd = reduction.recv_handle(connection)
        try:
            memory = mmap.mmap(fd, size)
        finally:
            os.close(fd)
    tensors = [_view(memory, *place) for place in described]
    return _Unpacker(io.BytesIO(text), tensors).load()

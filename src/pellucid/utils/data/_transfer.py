"""Sends batches between processes: tensors through shared memory, the rest pickled.

The plain tensors of a batch are copied to one block of shared memory, whose descriptor
is sent with the message. Tensors already in shared memory, and tensors that are not
plain, are sent by ``pellucid/multiprocessing/reductions.py``. Used by ``_workers.py``.
"""

from __future__ import annotations

import io
import math
import os
import pickle
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from pellucid import _C, Tensor
from pellucid._tensor.kinds import kind_of
from pellucid.multiprocessing.reductions import ForkingPickler
from pellucid.storage import UntypedStorage

_ALIGNMENT = 64


def _places(tensors: list[Tensor]) -> tuple[list[int], int]:
    """(the offset of each tensor, the bytes of all)."""
    starts, end = [], 0
    for tensor in tensors:
        starts.append(end)
        size = tensor.numel() * tensor.dtype.itemsize
        end += -(-size // _ALIGNMENT) * _ALIGNMENT
    return starts, end


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is plain: sending a copy of its values suffices."""
    if tensor.requires_grad or tensor.__dict__ or kind_of(tensor) is not None:
        return False
    return tensor.device.type == "cpu" and not tensor.is_shared()


class _Packer(ForkingPickler):
    """Pickles everything but plain tensors, which it collects."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.tensors: dict[int, Tensor] = {}
        self._places: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not Tensor or not _is_plain(obj):
            return None
        self.tensors.setdefault(id(obj), obj)
        return self._places.setdefault(id(obj), len(self._places))


class _Unpacker(pickle.Unpickler):
    """Restores the collected tensors."""

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
    tensors = list(packer.tensors.values())
    starts, size = _places(tensors)
    described = [
        (s, t.dtype, tuple(t.shape)) for s, t in zip(starts, tensors, strict=True)
    ]
    memory = UntypedStorage._new_using_fd_cpu(size)
    for tensor, place in zip(tensors, described, strict=True):
        _view(memory, *place).copy_(tensor)
    message = text.getvalue(), described, size
    connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    if size:
        reduction.send_handle(connection, memory._share_fd_cpu_()[0], None)


def receive(connection: Connection) -> Any:
    """Receives what ``send`` sent; raises EOFError if the other end is closed."""
    text, described, size = pickle.loads(connection.recv_bytes())
    memory = UntypedStorage()
    if size:
        descriptor = reduction.recv_handle(connection)
        try:
            memory = UntypedStorage._new_shared_fd_cpu(descriptor, size)
        finally:
            os.close(descriptor)
    tensors = [_view(memory, *place) for place in described]
    return _Unpacker(io.BytesIO(text), tensors).load()


def _view(
    memory: UntypedStorage, start: int, dtype: Any, shape: tuple[int, ...]
) -> Tensor:
    """A tensor over its part of the memory, as a separate storage: a write to one
    tensor of a batch does not bump the versions of the others.
    """
    count = math.prod(shape)
    part = memory[start : start + count * dtype.itemsize]
    flat: Tensor = _C._tensor_over(part, dtype, 0, (count,), (1,))
    return flat.view(shape)

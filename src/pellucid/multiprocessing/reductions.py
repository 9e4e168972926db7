"""Pickles tensors for other processes: their memory is shared, not copied.

``multiprocessing`` pickles objects for its queues, pipes, pools and processes by
``ForkingPickler``; ``init_reductions`` registers how it reduces storages: into a
descriptor of shared memory, or its name (``set_sharing_strategy``). The rest of a
tensor is pickled as always (``_tensor/copying.py``), so views of one storage stay
views of one, and components of sparse, nested and quantized tensors are shared too.
"""

from __future__ import annotations

from multiprocessing import reduction, util
from multiprocessing.reduction import ForkingPickler as ForkingPickler
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._package.calls import offered
from pellucid.storage import TypedStorage, UntypedStorage, sharing_strategy

__all__ = [
    "init_reductions",
    "rebuild_meta_tensor",
    "rebuild_storage_empty",
    "rebuild_storage_fd",
    "rebuild_storage_filename",
    "rebuild_typed_storage",
    "reduce_storage",
    "reduce_tensor",
    "reduce_typed_storage",
]


@offered.method
def share_memory_(self: Tensor) -> Tensor:
    """Moves the memory to where other processes can map it; returns the tensor.

    Views and other tensors of the same storage follow it. Raises NotImplementedError
    for sparse tensors, whose components can be shared.
    """
    if not self.is_shared():
        memory: Tensor = self.values() if self.is_nested else self
        memory.untyped_storage().share_memory_()
    return self


def reduce_tensor(tensor: Tensor) -> Any:
    """A function and the arguments with which another process rebuilds the tensor.

    RuntimeError for a result that records gradients: graphs stay in their process.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "a non-leaf tensor that requires grad cannot go to another process, since "
            "its graph stays in this one: send tensor.detach()"
        )
    if tensor.is_meta:
        place = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
        size = tensor.untyped_storage().nbytes()
        facts = (Tensor, *place, tensor.dtype, size, tensor.requires_grad)
        return rebuild_meta_tensor, facts
    return tensor.__reduce_ex__(2)


def rebuild_meta_tensor(
    tensor_cls: Any,
    tensor_size: tuple[int, ...],
    tensor_stride: tuple[int, ...],
    tensor_offset: int,
    dtype: Any,
    storage_size_bytes: int,
    requires_grad: bool,
) -> Tensor:
    """A tensor without values, of this geometry."""
    count = storage_size_bytes // dtype.itemsize
    whole = pellucid.empty(count, dtype=dtype, device="meta")
    made = whole.as_strided(tensor_size, tensor_stride, tensor_offset).detach()
    return made.requires_grad_(requires_grad)


def reduce_storage(storage: UntypedStorage) -> Any:
    """Moves the storage to shared memory, unless it is there: a function that maps it,
    and its arguments.

    A name in a message counts as a user of the memory until it is read.
    """
    if storage.device.type != "cpu":
        raise RuntimeError(
            f"a storage on {storage.device} cannot be sent: send a tensor over it"
        )
    if (storage._sharing or sharing_strategy[-1]) == "file_system":
        name = storage._share_filename_cpu_()
        storage._shared_incref()
        return rebuild_storage_filename, (type(storage), *name)
    descriptor, size = storage._share_fd_cpu_()
    if not size:
        return rebuild_storage_empty, (type(storage),)
    travelling = reduction.DupFd(descriptor)
    return rebuild_storage_fd, (type(storage), travelling, size)


def rebuild_storage_fd(cls: Any, df: Any, size: int) -> UntypedStorage:
    """The memory of a descriptor that was sent."""
    import os

    descriptor = df.detach()
    try:
        storage: UntypedStorage = cls._new_shared_fd_cpu(descriptor, size)
    finally:
        os.close(descriptor)
    return storage


def rebuild_storage_filename(
    cls: Any, manager: bytes, handle: bytes, size: int
) -> UntypedStorage:
    """The memory of a name that was sent."""
    storage: UntypedStorage = cls._new_shared_filename_cpu(manager, handle, size)
    return storage._shared_decref()


def rebuild_storage_empty(cls: Any) -> UntypedStorage:
    """A storage without bytes, which none can map."""
    storage: UntypedStorage = cls()
    return storage


def reduce_typed_storage(storage: TypedStorage) -> Any:
    """Of elements: the memory, and their dtype."""
    return rebuild_typed_storage, (storage.untyped(), storage.dtype)


def rebuild_typed_storage(storage: UntypedStorage, dtype: Any) -> TypedStorage:
    """The elements of memory that was sent."""
    return TypedStorage(wrap_storage=storage, dtype=dtype)


def init_reductions() -> None:
    """Registers tensors and storages with ``multiprocessing``'s pickler."""
    reduction.register(UntypedStorage, reduce_storage)
    reduction.register(TypedStorage, reduce_typed_storage)
    reduction.register(Tensor, reduce_tensor)
    util.register_after_fork(_Exit, _Exit.register)
    _Exit.register()


class _Exit:
    """A process that ends without destroying its storages gives up shared names: after
    all that ``multiprocessing`` does at the end, and again in forked processes.
    """

    @staticmethod
    def register(_: Any = None) -> None:
        util.Finalize(None, _C._leave_named_memory, exitpriority=-1000)

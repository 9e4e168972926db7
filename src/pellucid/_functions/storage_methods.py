"""Methods of Tensor that take or give storages.

Imported lazily (``_package/calls/offered.py``).
"""

from __future__ import annotations

from typing import Any

from pellucid import _C
from pellucid import storage as _storage
from pellucid._package.calls import offered
from pellucid._tensor import Tensor
from pellucid._tensor.dtype_names import STORAGE_NAMES
from pellucid.storage import TypedStorage, UntypedStorage


@offered.method
def storage(self: Tensor) -> TypedStorage:
    """The memory behind this tensor as elements; ``untyped_storage`` is newer."""
    _storage.warn_of_typed_storage()
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


@offered.method
def storage_type(self: Tensor) -> Any:
    """The type of this tensor's storage by name, such as ``torch.FloatStorage``."""
    word = STORAGE_NAMES.get(self.dtype)
    return getattr(_storage, f"{word}Storage") if word else _storage.UntypedStorage


@offered.method
def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | TypedStorage | None = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Makes this tensor another one: of `source`'s memory, sizes and strides.

    `source` is a tensor of the same dtype, or a storage, of which `size` elements
    are seen from `storage_offset` on; without a source the tensor becomes empty.
    Values that autograd saved of it are lost to backward, which then raises.

    Example::

        x = torch.zeros(3)
        x.set_(torch.ones(2))  # tensor([1., 1.])
    """
    if source is None:
        return _C.TensorBase.set_(self)
    if not isinstance(source, Tensor):
        source = _storage.elements_of(source, self.dtype)
        count = source.nbytes() // self.element_size() - storage_offset
        sizes = (count,) if size is None else tuple(size)
        strides = _row_major(sizes) if stride is None else tuple(stride)
        source = _C._tensor_over(source, self.dtype, storage_offset, sizes, strides)
    elif size is not None:
        strides = () if stride is None else stride
        return _C.TensorBase.set_(self, source, storage_offset, size, strides)
    return _C.TensorBase.set_(self, source)


def _row_major(sizes: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for size in sizes[:0:-1]:
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides[: len(sizes)]))

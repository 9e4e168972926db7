"""Storages: the memory of tensors as bytes, and as elements of one dtype.

``Tensor.untyped_storage()`` returns the bytes, the older ``Tensor.storage()`` the
elements; both share the tensor's memory. ``torch.FloatStorage`` and similar names are
types of the latter, as ``torch.FloatTensor`` is a type of tensors
(``_tensor/legacy_types.py``). Elements are read and written through tensors over the
memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import pellucid
from pellucid import _C
from pellucid._package.calls import offered
from pellucid._package.lazy_exports import take_offers
from pellucid._tensor import Tensor
from pellucid._tensor.dtype_names import STORAGE_NAMES, TYPE_NAMES

_SHOWN = 1000
"""Longer storages print only their first and last elements."""


class _OnCPU:
    """Methods about devices and shared memory that all storages have."""

    __slots__ = ()
    is_cuda = is_hpu = is_sparse = False

    def get_device(self) -> int:
        """-1: the CPU."""
        return -1

    def is_pinned(self, device: Any = None) -> bool:
        """False: there is no device to copy to from pinned memory."""
        return False

    def pin_memory(self, device: Any = None) -> Self:
        """Raises RuntimeError: tensors are pinned."""
        raise RuntimeError("pin_memory() of a storage: pin its tensor instead")

    def cpu(self) -> Self:
        """The storage itself."""
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Self:
        """The storage itself: it is on the CPU."""
        _require_cpu(device)
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Self:
        """Raises: there is no CUDA device."""
        raise AssertionError("Pellucid runs on the CPU: there is no CUDA device")


@offered.value
class UntypedStorage(_OnCPU, _C.StorageBase):
    """A block of bytes that tensors share.

    ``UntypedStorage(nbytes)`` is zeros, ``UntypedStorage(values)`` a copy of bytes or
    of a sequence of numbers from 0 to 255. Indexing with an int gives a byte, with a
    slice of step 1 a storage of the same memory. Example::

        >>> import pellucid as torch
        >>> memory = torch.zeros(2).untyped_storage()
        >>> memory.nbytes()
        8
        >>> memory.fill_(1)[0]
        1
    """

    __slots__ = ()
    is_sparse_csr = False

    def __new__(cls, source: Any = 0, *, device: Any = None) -> UntypedStorage:
        if device is not None and pellucid.device(device).type == "meta":
            without_values: Tensor = pellucid.empty(
                source, dtype=_C.uint8, device="meta"
            )
            return without_values.untyped_storage()
        _require_cpu(device)
        if isinstance(source, Sequence) and not isinstance(source, bytes | bytearray):
            source = bytes(source)
        return super().__new__(cls, source)

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        """Zeros in memory that other processes can map."""
        _require_cpu(device)
        if _has_names():
            return cls._new_using_filename_cpu(size)
        return cls._new_using_fd_cpu(size)

    def share_memory_(self) -> UntypedStorage:
        """Moves the bytes to memory that other processes can map.

        Tensors over the storage use the new memory; existing NumPy arrays and slices of
        the storage keep the old memory. Forked processes share writes in both
        directions; ``torch.multiprocessing`` sends such memory without a copy.
        """
        if not self.is_shared():
            _ = self._share_filename_cpu_() if _has_names() else self._share_fd_cpu_()
        return self

    @staticmethod
    def from_buffer(
        buffer: Any,
        byte_order: str = "native",
        count: int = -1,
        offset: int = 0,
        *,
        dtype: Any = None,
    ) -> UntypedStorage:
        """A copy of ``count`` elements of a buffer, from ``offset`` bytes on.

        ``byte_order`` of the buffer's elements is "native", "little" or "big".
        """
        if dtype is None:
            raise RuntimeError("from_buffer() needs the dtype of the buffer's elements")
        return _from_buffer(buffer, dtype, byte_order, count, offset)

    def __setitem__(self, index: int | slice, value: int) -> None:
        place = _checked_place(index, len(self), RuntimeError)
        _over(self, _C.uint8)[place] = _byte(value)

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def __iter__(self) -> Iterator[int]:
        return iter(self._bytes())

    def __repr__(self) -> str:
        facts = f"device={self.device}) of size {len(self)}]"
        return f"{_listing(self)}\n[torch.storage.UntypedStorage({facts}"

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        copy: UntypedStorage = memo.setdefault(id(self), self.clone())
        return copy

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def element_size(self) -> int:
        """1: elements are bytes."""
        return 1

    def fill_(self, value: int) -> UntypedStorage:
        """Sets every byte to the lowest eight bits of an int."""
        _over(self, _C.uint8).fill_(_byte(value))
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        """Copies the bytes of another storage of the same size."""
        _require_storage(source)
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"copy_(): the storages have {self.nbytes()} and {source.nbytes()} "
                "bytes; they need as many"
            )
        _over(self, _C.uint8).copy_(_over(source.untyped(), _C.uint8))
        return self

    def byteswap(self, dtype: Any) -> None:
        """Reverses the bytes of every element of ``dtype``, in place."""
        width = dtype.itemsize // (2 if dtype.is_complex else 1)
        rows = _over(self, _C.uint8).view(-1, width)
        rows.copy_(rows.flip(1))

    def new(self) -> UntypedStorage:
        """An empty storage."""
        return UntypedStorage()

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the storage's type, or a copy of the bytes as ``dtype``."""
        if dtype is None:
            return "torch.storage.UntypedStorage"
        return TypedStorage(wrap_storage=self, dtype=_C.uint8).type(dtype)


@offered.value
class TypedStorage(_OnCPU):
    """The memory of a tensor as elements of one dtype, without sizes and strides.

    ``TypedStorage(size or values, dtype=...)``, or over existing bytes:
    ``TypedStorage(wrap_storage=untyped, dtype=...)``. Example::

        >>> import pellucid as torch
        >>> torch.FloatStorage([1.0, 2.0]).tolist()
        [1.0, 2.0]
    """

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        _require_cpu(device)
        self.dtype: Any = dtype or pellucid.get_default_dtype()
        if wrap_storage is None:
            self._untyped_storage = _made(args, self.dtype)
            return
        if args or not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(
                "TypedStorage() takes a size, a sequence, or wrap_storage=, an "
                f"UntypedStorage, and nothing else; given: {wrap_storage!r:.80}"
            )
        self._untyped_storage = wrap_storage

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, **kwargs: Any) -> TypedStorage:
        """A copy of the elements of a buffer; see ``UntypedStorage.from_buffer``."""
        dtype = dtype or pellucid.get_default_dtype()
        memory = UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=memory, dtype=dtype)

    @classmethod
    def from_file(
        cls,
        filename: Any,
        shared: bool = False,
        size: int = 0,
        *,
        dtype: Any = None,
    ) -> TypedStorage:
        """The first ``size`` elements of a file, mapped; ``shared`` writes to the
        file.
        """
        dtype = dtype or pellucid.get_default_dtype()
        memory = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
        return TypedStorage(wrap_storage=memory, dtype=dtype)

    @classmethod
    def _new_shared(cls, size: int, *, dtype: Any = None) -> TypedStorage:
        """``size`` zeros in memory that other processes can map."""
        dtype = dtype or pellucid.get_default_dtype()
        memory = UntypedStorage._new_shared(size * dtype.itemsize)
        return TypedStorage(wrap_storage=memory, dtype=dtype)

    def is_shared(self) -> bool:
        """Whether other processes can map the memory."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """See ``UntypedStorage.share_memory_``."""
        self._untyped_storage.share_memory_()
        return self

    @property
    def filename(self) -> str | None:
        """The file to which writes go; None for other memory."""
        return self._untyped_storage.filename

    @property
    def _elements(self) -> Tensor:
        return _over(self._untyped_storage, self.dtype)

    @property
    def device(self) -> Any:
        """The device of the memory."""
        return self._untyped_storage.device

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def untyped(self) -> UntypedStorage:
        """The memory as bytes."""
        return self._untyped_storage

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.element_size()

    __len__ = size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes of an element."""
        width: int = self.dtype.itemsize
        return width

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._untyped_storage.data_ptr()

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("only an UntypedStorage can be sliced")
        return self._elements[_checked_place(index, self.size())].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements[_checked_place(index, self.size())] = value

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        facts = f"dtype={self.dtype}, device={self.device}) of size {self.size()}]"
        return f"{_listing(self)}\n[torch.storage.TypedStorage({facts}"

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        memory = self._untyped_storage.__deepcopy__(memo)
        return TypedStorage(wrap_storage=memory, dtype=self.dtype)

    def __reduce__(self) -> Any:
        return _rebuilt, (self._untyped_storage, self.dtype)

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return list(self._elements.tolist())

    def clone(self) -> TypedStorage:
        """A storage with the same elements."""
        return TypedStorage(
            wrap_storage=self._untyped_storage.clone(), dtype=self.dtype
        )

    def fill_(self, value: Any) -> TypedStorage:
        """Sets every element."""
        self._elements.fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copies the elements of another storage, converted to this one's dtype."""
        _require_storage(source)
        if source.size() != self.size():
            raise RuntimeError(
                f"copy_(): the storages have {self.size()} and {source.size()} "
                "elements; they need as many"
            )
        dtype = source.dtype if isinstance(source, TypedStorage) else _C.uint8
        self._elements.copy_(_over(source.untyped(), dtype))
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Resizes in place to ``size`` elements; the first ones keep their values."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def resizable(self) -> bool:
        """Whether the memory is Pellucid's own and can be resized."""
        return self._untyped_storage.resizable()

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the storage's type, or a storage of another dtype."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        if isinstance(dtype, str):
            dtype = getattr(pellucid, dtype.rpartition(".")[2])
        dtype = dtype if isinstance(dtype, _C.dtype) else dtype.dtype
        return self if dtype == self.dtype else _converted(self, dtype)

    def pickle_storage_type(self) -> str:
        """The name that files give to storages of this dtype."""
        return f"{TYPE_NAMES[self.dtype]}Storage"


def warn_of_typed_storage() -> None:
    """Warns once that ``Tensor.storage()`` is deprecated."""
    if not _warned:
        _warned.append(True)
        warnings.warn(
            "TypedStorage is deprecated: Tensor.untyped_storage() gives the memory "
            "as bytes",
            UserWarning,
            stacklevel=3,
        )


_warned: list[bool] = []


sharing_strategy: list[str] = ["file_descriptor"]
"""How other processes find shared memory: ``torch.multiprocessing``'s strategy."""


def _has_names() -> bool:
    """Whether the sharing strategy is by file name."""
    return sharing_strategy[-1] == "file_system"


class _StorageType(type):
    """The metaclass of ``FloatStorage`` and the like, whose calls make typed
    storages.
    """

    dtype: _C.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype == cls.dtype

    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """See ``TypedStorage.from_buffer``."""
        return TypedStorage.from_buffer(*args, dtype=cls.dtype, **kwargs)

    def _new_shared(cls, size: int) -> TypedStorage:
        """See ``TypedStorage._new_shared``."""
        return TypedStorage._new_shared(size, dtype=cls.dtype)

    def from_file(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """See ``TypedStorage.from_file``."""
        return TypedStorage.from_file(*args, dtype=cls.dtype, **kwargs)


_TYPES = {
    f"{word}Storage": _StorageType(
        f"{word}Storage",
        (),
        {"dtype": dtype, "__module__": "torch", "__doc__": f"Storages of {dtype}."},
    )
    for dtype, word in STORAGE_NAMES.items()
}

offered.values(
    "BFloat16Storage",
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "ShortStorage",
)


def __getattr__(name: str) -> Any:
    try:
        return _TYPES[name]
    except KeyError:
        raise AttributeError(f"pellucid.storage has no {name}") from None


def _make_conversion(name: str, dtype: Any) -> Any:
    def convert(self: Any) -> TypedStorage:
        result: TypedStorage = self.type(dtype)
        return result

    convert.__name__ = name
    convert.__doc__ = f"The elements as {dtype}."
    return convert


for _name, _dtype in {
    "bfloat16": _C.bfloat16,
    "bool": _C.bool,
    "byte": _C.uint8,
    "char": _C.int8,
    "complex_double": _C.complex128,
    "complex_float": _C.complex64,
    "double": _C.float64,
    "float": _C.float32,
    "half": _C.float16,
    "int": _C.int32,
    "long": _C.int64,
    "short": _C.int16,
}.items():
    for _kind in (UntypedStorage, TypedStorage):
        setattr(_kind, _name, _make_conversion(_name, _dtype))


def elements_of(storage: Any, dtype: Any) -> UntypedStorage:
    """The untyped memory of a storage of ``dtype``; untyped storages are accepted as
    is.
    """
    if isinstance(storage, TypedStorage):
        if storage.dtype != dtype:
            raise RuntimeError(
                f"expected a storage of {dtype}, or an UntypedStorage; given: one of "
                f"{storage.dtype}"
            )
        return storage.untyped()
    _require_storage(storage)
    memory: UntypedStorage = storage
    return memory


def _require_storage(value: Any) -> None:
    if not isinstance(value, UntypedStorage | TypedStorage):
        raise TypeError(f"a storage is expected; given: {type(value).__name__}")


def _rebuilt(memory: UntypedStorage, dtype: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=memory, dtype=dtype)


def _over(memory: UntypedStorage, dtype: Any) -> Tensor:
    """All whole elements of the memory as a 1-d tensor."""
    count = memory.nbytes() // dtype.itemsize
    tensor: Tensor = _C._tensor_over(memory, dtype, 0, (count,), (1,))
    return tensor


def _made(args: tuple[Any, ...], dtype: Any) -> UntypedStorage:
    """Memory for a number of elements, or holding the given elements."""
    if len(args) > 1:
        raise TypeError(f"a storage takes a size or a sequence, not {len(args)} values")
    source = args[0] if args else 0
    if isinstance(source, UntypedStorage):
        return source
    if isinstance(source, Sequence):
        values: Tensor = _C.tensor(source, dtype=dtype).reshape(-1)
        return values.untyped_storage()
    if source < 0:
        raise RuntimeError(f"a storage cannot have {source} elements")
    return UntypedStorage(source * dtype.itemsize)


def _converted(storage: TypedStorage, dtype: Any) -> TypedStorage:
    memory = storage._elements.to(dtype).untyped_storage()
    return TypedStorage(wrap_storage=memory, dtype=dtype)


def _from_buffer(
    buffer: Any, dtype: Any, byte_order: str, count: int, offset: int
) -> UntypedStorage:
    if byte_order not in ("native", "little", "big"):
        raise ValueError(
            f"byte_order is 'native', 'little' or 'big', not {byte_order!r}"
        )
    data = memoryview(buffer).cast("B")
    if not 0 <= offset <= len(data):
        raise ValueError(f"offset {offset} is outside of the {len(data)} bytes given")
    left, width = len(data) - offset, dtype.itemsize
    if count < 0 and left % width:
        raise ValueError(f"{left} bytes are not a multiple of the item size, {width}")
    nbytes = left if count < 0 else count * width
    if nbytes > left:
        raise ValueError(f"{count} elements need {nbytes} bytes, {left} are there")
    memory = UntypedStorage(bytes(data[offset : offset + nbytes]))
    if byte_order == "big":
        memory.byteswap(dtype)
    return memory


def _checked_place(
    index: Any, count: int, error: type[Exception] = IndexError
) -> int | slice:
    """The index of an element, or a slice; ``error`` if it is outside."""
    if isinstance(index, slice):
        return index
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        raise RuntimeError(f"storages are indexed by ints, not {type(index).__name__}")
    place = int(index)
    if not -count <= place < count:
        raise error(f"index {place} is out of range for a storage of size {count}")
    return place


def _byte(value: Any) -> int:
    """The lowest eight bits of an int; RuntimeError for another value."""
    if not isinstance(value, int):
        raise RuntimeError(f"bytes are set to ints, not to a {type(value).__name__}")
    return value & 0xFF


def _listing(storage: UntypedStorage | TypedStorage) -> str:
    """The elements, one per line."""
    if storage.device.type == "meta":
        return "..."
    count = len(storage)
    if count <= _SHOWN:
        return "\n".join(f" {value}" for value in storage)
    half = _SHOWN // 2
    ends = [*range(half), *range(count - half, count)]
    lines = [f" {storage[place]}" for place in ends]
    return "\n".join([*lines[:half], " ...", *lines[half:]])


def _require_cpu(device: Any) -> None:
    if device is not None and pellucid.device(device).type != "cpu":
        raise NotImplementedError(f"storages are made on the CPU, not on {device}")


take_offers("storage", globals())

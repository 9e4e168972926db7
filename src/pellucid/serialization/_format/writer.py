"""Writes tensors into a pickle under torch's names; their bytes are separate records.

Called by ``serialization.save``; ``archive.py`` is the reader.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from types import BuiltinFunctionType, FunctionType
from typing import IO, Any

import pellucid
from pellucid import Tensor
from pellucid._tensor.copying import (
    is_wrapper,
    pending_of,
    warn_if_has_hooks,
    with_pending,
    wrapper_facts,
)
from pellucid._tensor.dtype_names import STORAGE_NAMES, TYPE_NAMES
from pellucid.overrides import DisableTorchFunctionSubclass
from pellucid.serialization._format.locations import location_tag
from pellucid.serialization._format.names import public_name
from pellucid.storage import TypedStorage, UntypedStorage

# The names of storage types in PyTorch's files, by dtype.
STORAGE_DTYPES = {
    f"{word}Storage": str(dtype).removeprefix("torch.")
    for dtype, word in STORAGE_NAMES.items()
}


class _Name:
    """A torch name in a pickle; writing it does not need an importable torch."""

    def __init__(self, module: str, name: str) -> None:
        self.text = f"{module}\n{name}\n"

    def __call__(self) -> None:
        raise TypeError("names denote functions of the reader")


class _StorageReference:
    """A placeholder in a pickle for bytes in a separate record."""

    def __init__(self, identifier: tuple[Any, ...]) -> None:
        self.identifier = identifier


_REBUILD_TENSOR = _Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_OF_DTYPE = _Name("torch._utils", "_rebuild_tensor_v3")
_REBUILD_META = _Name("torch._utils", "_rebuild_meta_tensor_no_storage")
_REBUILD_QUANTIZED = _Name("torch._utils", "_rebuild_qtensor")
_REBUILD_SPARSE = _Name("torch._utils", "_rebuild_sparse_tensor")
_REBUILD_NESTED = _Name("torch._utils", "_rebuild_nested_tensor")
_REBUILD_RAGGED = _Name("torch.nested._internal.nested_tensor", "_rebuild_njt")
_LAYOUT = _Name("torch.serialization", "_get_layout")
_REBUILD_PARAMETER = _Name("torch._utils", "_rebuild_parameter")
_REBUILD_PARAMETER_WITH_STATE = _Name("torch._utils", "_rebuild_parameter_with_state")
_REBUILD_SUBCLASS = _Name("torch._tensor", "_rebuild_from_type_v2")
_REBUILD_WRAPPER = _Name("torch._utils", "_rebuild_wrapper_subclass")
# Their names for the integers of quantized tensors.
QUANTIZED_STORAGES = {
    "QInt8Storage": ("qint8", "int8"),
    "QUInt8Storage": ("quint8", "uint8"),
    "QInt32Storage": ("qint32", "int32"),
}
_QUANTIZED_NAMES = {
    quantized: _Name("torch", storage)
    for storage, (quantized, _) in QUANTIZED_STORAGES.items()
}
_STORAGE_NAMES = {
    dtype: _Name("torch", storage) for storage, dtype in STORAGE_DTYPES.items()
}
_DTYPE_NAMES = {
    str(dtype): _Name("torch", str(dtype).removeprefix("torch."))
    for dtype in TYPE_NAMES
}
_BYTES = _Name("torch.storage", "UntypedStorage")
_DEVICE, _SIZE = _Name("torch", "device"), _Name("torch", "Size")


# The pickler in Python: the one in C writes only names that it can import.
_Pickler: Any = pickle._Pickler


class Writer(_Pickler):  # type: ignore[misc]
    """Pickles tensors under torch's names and collects their storages."""

    dispatch = _Pickler.dispatch.copy()

    def __init__(
        self, file: IO[bytes], protocol: int, *, is_legacy: bool = False
    ) -> None:
        super().__init__(file, protocol)
        # References of the legacy format have a sixth part, None.
        self._last_parts = (None,) if is_legacy else ()
        self.storages: dict[tuple[str, int], tuple[str, Tensor]] = {}

    def persistent_id(self, value: object) -> Any:
        if isinstance(value, UntypedStorage):
            value = TypedStorage(wrap_storage=value, dtype=pellucid.uint8)
        if isinstance(value, TypedStorage):
            like = pellucid.empty(0, dtype=value.dtype, device=value.device)
            value = self._storage_of(like.set_(value))
        return value.identifier if isinstance(value, _StorageReference) else None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            with DisableTorchFunctionSubclass():
                return self._reduce_any_tensor(value)
        if isinstance(value, pellucid.Size):
            return _SIZE, (tuple(value),)
        if isinstance(value, pellucid.layout):
            return _LAYOUT, (str(value),)
        if isinstance(value, pellucid.device):
            return _DEVICE, (str(value),)
        if isinstance(value, BuiltinFunctionType) and public_name(value):
            return value.__name__
        return NotImplemented

    def _reduce_any_tensor(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind.__reduce_ex__ is pellucid.nn.Parameter.__reduce_ex__:
            state = _state_of(value)
            facts: tuple[Any, ...] = (value.data, value.requires_grad, OrderedDict())
            if state:
                return _REBUILD_PARAMETER_WITH_STATE, (*facts, state)
            return _REBUILD_PARAMETER, facts
        if kind.__reduce_ex__ is not Tensor.__reduce_ex__:
            return NotImplemented
        warn_if_has_hooks(value)
        state = _state_of(value)
        kind = Tensor if kind is pellucid.nn.Buffer else kind
        if kind is Tensor and not state:
            return self._reduce_tensor(value)
        function, arguments = self._reduce_tensor(value)
        return _REBUILD_SUBCLASS, (function, kind, arguments, state)

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        if tensor.is_meta:
            place = tuple(tensor.shape), tuple(tensor.stride())
            return _REBUILD_META, (tensor.dtype, *place, tensor.requires_grad)
        if tensor.device.type != "cpu" and not pellucid._C._has_backend(tensor.device):
            raise ValueError(
                f"a tensor on {tensor.device} has no values to save; move it to the CPU"
            )
        if tensor.is_nested:
            from pellucid.nested._ops.pickles import facts_of as facts_of_nested

            rebuild = _REBUILD_RAGGED if tensor.layout is pellucid.jagged else None
            return rebuild or _REBUILD_NESTED, facts_of_nested(tensor)
        if tensor.layout is not pellucid.strided:
            from pellucid.sparse._ops.pickles import facts_of

            return _REBUILD_SPARSE, facts_of(tensor)
        if tensor.is_quantized:
            return _REBUILD_QUANTIZED, self._quantized_arguments(tensor)
        if is_wrapper(tensor):  # made by _make_wrapper_subclass
            return _REBUILD_WRAPPER, wrapper_facts(tensor)
        arguments: tuple[Any, ...] = (
            self._storage_of(tensor),
            tensor.storage_offset(),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            tensor.requires_grad,
            OrderedDict(),
        )
        pending = pending_of(tensor)
        metadata = ({name: True for name in pending},) if pending else ()
        if tensor.dtype in STORAGE_NAMES:
            return _REBUILD_TENSOR, (*arguments, *metadata)
        return _REBUILD_OF_DTYPE, (*arguments, tensor.dtype, *metadata)

    def _quantized_arguments(self, tensor: Tensor) -> tuple[Any, ...]:
        from pellucid.ao._quantized.pickles import facts_of

        integers, facts = facts_of(tensor)
        word = str(tensor.dtype).removeprefix("torch.")
        return (
            self._storage_of(integers, _QUANTIZED_NAMES[word]),
            integers.storage_offset(),
            *(tuple(tensor.shape), tuple(tensor.stride())),
            *(facts, tensor.requires_grad, OrderedDict()),
        )

    def _storage_of(
        self, tensor: Tensor, word: _Name | None = None
    ) -> _StorageReference:
        storage = tensor.untyped_storage()
        dtype = _dtype_name(tensor.dtype)
        count = storage.nbytes() // tensor.element_size()
        # Storages without memory are all distinct.
        address = str(tensor.device), storage.data_ptr() or -1 - len(self.storages)
        if address not in self.storages:
            viewed = tensor.detach().as_strided((count,), (1,), 0)
            whole = with_pending(viewed, pending_of(tensor))  # what is stored
            # Kept alive, so that no later storage has the same address.
            self.storages[address] = (str(len(self.storages)), whole)
        key, whole = self.storages[address]
        if whole.dtype != tensor.dtype:
            raise RuntimeError(
                f"tensors of {whole.dtype} and {tensor.dtype} share one memory, and a "
                "file gives each memory one dtype; save a clone() of one of them"
            )
        name = word or _STORAGE_NAMES.get(dtype, _BYTES)
        if name is _BYTES:
            count *= tensor.element_size()
        identifier = (
            "storage",
            name,
            key,
            location_tag(storage),
            count,
            *self._last_parts,
        )
        return _StorageReference(identifier)

    def save_name(self, value: _Name) -> None:
        self.write(pickle.GLOBAL + value.text.encode())
        self.memoize(value)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        place = public_name(obj)
        if place is None:
            super().save_global(obj, name)
        else:
            self.write(pickle.GLOBAL + _Name(*place).text.encode())
            self.memoize(obj)

    def save_dtype(self, value: Any) -> None:
        self.save(_DTYPE_NAMES[str(value)])

    def save_scheme(self, value: Any) -> None:
        self.save(_Name("torch", str(value).removeprefix("torch.")))

    dispatch[_Name] = save_name
    dispatch[pellucid.qscheme] = save_scheme
    dispatch[pellucid.dtype] = save_dtype
    dispatch[FunctionType] = save_global


def _state_of(tensor: Tensor) -> Any:
    """The user's attributes of a tensor."""
    state: Any = tensor.__getstate__()
    return state


def _dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def bytes_of(whole: Tensor) -> bytes:
    """The memory of a storage as a 1-d tensor."""
    if whole.numel() == 0:
        return b""
    return bytes(whole.cpu().view(pellucid.uint8)._buffer(False))

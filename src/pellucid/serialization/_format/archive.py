"""Reads a zip archive: its storages, and the object that its pickle describes.

``serialization.load`` and ``file_reader.py`` call it. Reading goes through
``safe_pickle.py``, which creates only what ``constructors`` and the program allow;
``load_trusted`` is for files that may run code.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._tensor.copying import PENDING, rebuild_wrapper, with_pending
from pellucid._tensor.dtype_names import TYPE_NAMES
from pellucid.serialization._format.locations import DevicePlacement
from pellucid.serialization._format.names import find_named
from pellucid.serialization._format.options import (
    LoadEndianness,
    get_default_load_endianness,
    skips_data,
)
from pellucid.serialization._format.safe_pickle import Reader, Unread, known_function
from pellucid.serialization._format.writer import QUANTIZED_STORAGES, STORAGE_DTYPES
from pellucid.storage import TypedStorage, UntypedStorage

# Takes a storage and its saved location; returns the storage for tensors, or None for
# the given one.
Placement = Callable[[UntypedStorage, str], Any]

# The exceptions of zipfile for bytes that are not a complete, plain archive.
_DAMAGE = (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, ValueError)


@contextmanager
def naming_damage() -> Iterator[None]:
    """Turns exceptions caused by a damaged file into UnpicklingError."""
    try:
        yield
    except _DAMAGE as error:
        raise pickle.UnpicklingError(
            "the file is not a zip archive as PyTorch 1.6 and later write it, or it is "
            f"damaged: {error}"
        ) from error


class Archive:
    """The storages of one file, each read once and checked against its description."""

    def __init__(
        self, archive: zipfile.ZipFile, placement: Placement | None = None
    ) -> None:
        self._archive = archive
        self._placement = placement
        names = archive.namelist()
        described = [name for name in names if name.endswith("data.pkl")]
        if len(described) != 1:
            raise pickle.UnpicklingError("the file is a zip archive without data.pkl")
        self._prefix = described[0].removesuffix("data.pkl")
        order = b"little"
        if self._prefix + "byteorder" in names:
            order = self.read("byteorder")
        elif get_default_load_endianness() is LoadEndianness.BIG:
            order = b"big"
        if order not in (b"", b"little"):
            raise ValueError(f"the file's byte order is {order!r}, not little")
        self._storages: dict[str, TypedStorage] = {}

    def records(self) -> list[str]:
        """The names of the file's records."""
        names = self._archive.namelist()
        return [name.removeprefix(self._prefix) for name in names]

    def read(self, name: str) -> bytes:
        """The bytes of one record."""
        entry = self._archive.getinfo(self._prefix + name)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise pickle.UnpicklingError(f"{entry.filename} is compressed")
        if entry.CRC == 0:  # PyTorch's value for a record without a checksum
            entry = copy(entry)
            del entry.CRC
        with self._archive.open(entry) as record:
            return record.read()

    def load(self, safe_classes: dict[str, Any]) -> Any:
        """The object, built from tensors, numbers, containers and these classes."""
        reader = Reader(constructors(), self._storage, safe_classes)
        return reader.load(self.read("data.pkl"))

    def load_trusted(self) -> Any:
        """The object; imports and calls whatever the file names."""
        return TrustedUnpickler(self.read("data.pkl"), self._storage).load()

    def _storage(self, identifier: Any) -> TypedStorage:
        """The storage of a persistent id."""
        kind, dtype, key, location, count = identifier
        if kind != "storage" or not isinstance(dtype, pellucid.dtype):
            raise pickle.UnpicklingError(f"unknown reference {identifier!r:.200}")
        if key not in self._storages:
            size = count * dtype.itemsize
            found = self._memory(f"data/{key}", size, location)
            if found.nbytes() != size:
                raise pickle.UnpicklingError(
                    f"storage {key} has {found.nbytes()} bytes, not the "
                    f"{dtype.itemsize} of {count} elements each"
                )
            memory = placed(found, location, self._placement)
            self._storages[key] = TypedStorage(wrap_storage=memory, dtype=dtype)
        storage = self._storages[key]
        if storage.dtype == dtype:
            return storage
        return TypedStorage(wrap_storage=storage.untyped(), dtype=dtype)

    def _memory(self, name: str, size: int, location: str) -> UntypedStorage:
        """The bytes of a record; only their number if it goes to the meta device."""
        placement = self._placement
        to_meta = isinstance(placement, DevicePlacement) and (
            placement.location_for(location) == "meta"
        )
        if to_meta:
            size = self._archive.getinfo(self._prefix + name).file_size
            return UntypedStorage(size, device="meta")
        return UntypedStorage(size if skips_data() else self.read(name))


def placed(
    found: UntypedStorage, location: str, placement: Placement | None
) -> UntypedStorage:
    """The storage that the caller's ``map_location`` returns for this one."""
    chosen = placement and placement(found, location)
    if chosen is None:
        return found
    if not isinstance(chosen, UntypedStorage):
        raise RuntimeError(
            f"map_location returned a {type(chosen).__name__}; it must return a "
            "storage on the CPU, or None for the one it was given"
        )
    return chosen


class TrustedUnpickler(pickle.Unpickler):
    """Python's unpickler; resolves PyTorch's names to Pellucid's."""

    def __init__(
        self,
        data: bytes,
        storage: Callable[[Any], Any],
        made_here: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._storage = storage
        self._made_here = constructors() if made_here is None else made_here

    def persistent_load(self, pid: Any) -> Any:
        with naming_damage():
            return self._storage(pid)

    def find_class(self, module_name: str, global_name: str) -> Any:
        if module_name.partition(".")[0] != "torch":
            return super().find_class(module_name, global_name)
        made_here = self._made_here.get(f"{module_name} {global_name}")
        return made_here or find_named(module_name, global_name)


def rebuild_tensor(
    storage: TypedStorage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    """A strided tensor over ``storage``, which must contain all its elements."""
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    within = offset >= 0 and (0 in size or last < storage.size())
    if not within or min((*size, *stride, 0)) < 0:
        raise ValueError(
            f"a tensor of size {size}, stride {stride} and offset {offset} does not "
            f"fit a storage of {storage.size()} elements"
        )
    dtype, memory = storage.dtype, storage.untyped()
    view = pellucid.empty(0, dtype=dtype, device=memory.device).set_(
        memory, offset, size, stride
    )
    view = _with_metadata(view, metadata or {})
    return view.requires_grad_(requires_grad) if requires_grad else view


def _rebuild_of_dtype(
    storage: TypedStorage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """Like ``rebuild_tensor``, over untyped bytes with elements of ``dtype``."""
    if not isinstance(dtype, pellucid.dtype):
        raise TypeError(f"a tensor's dtype is a dtype, not {dtype!r:.100}")
    typed = TypedStorage(wrap_storage=storage.untyped(), dtype=dtype)
    return rebuild_tensor(typed, offset, size, stride, requires_grad, hooks, metadata)


def _rebuild_meta(
    dtype: Any, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool
) -> Tensor:
    """A tensor on the meta device, which has no storage in files."""
    made: Tensor = pellucid.empty_strided(size, stride, dtype=dtype, device="meta")
    return made.requires_grad_(requires_grad)


def _rebuild_wrapper(kind: Any, *facts: Any) -> Tensor:
    """A wrapper subclass, whose attributes hold the tensors that it wraps."""
    kind = known_function(kind)
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise pickle.UnpicklingError(f"{kind!r:.100} is not a class of tensors")
    return rebuild_wrapper(kind, *facts)


def _rebuild_sparse(layout: Any, facts: Any) -> Tensor:
    """A sparse tensor from its layout and components."""
    from pellucid.sparse._ops.pickles import rebuild

    return rebuild(layout, facts)


def _rebuild_nested(*facts: Any) -> Tensor:
    """A strided nested tensor from its elements, sizes, strides and offsets."""
    from pellucid.nested._ops.pickles import rebuild_pieces

    return rebuild_pieces(*facts)


def _rebuild_ragged(facts: Any) -> Tensor:
    """A jagged tensor from the components of PyTorch's class."""
    from pellucid.nested._ops.pickles import rebuild_ragged

    return rebuild_ragged(facts)


def _rebuild_quantized(
    storage: TypedStorage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    facts: Any,
    requires_grad: bool = False,
    hooks: Any = None,
) -> Tensor:
    """A quantized tensor from its integers and scheme."""
    from pellucid.ao._quantized.pickles import rebuild

    integers = rebuild_tensor(storage, offset, size, stride, False, hooks)
    return rebuild(integers, facts)


def _rebuild_narrow_weight(*facts: Any) -> Tensor:
    """The weight of a layer that ``quantize_`` changed."""
    from pellucid.ao._quantized.narrow_weights import rebuilt

    made: Tensor = rebuilt(*facts)
    return made


def _layout_named(name: str) -> Any:
    found = getattr(pellucid, str(name).removeprefix("torch."), None)
    if not isinstance(found, pellucid.layout):
        raise pickle.UnpicklingError(f"{name!r:.100} is not a layout of a tensor")
    return found


def _with_metadata(stored: Tensor, metadata: dict[str, Any]) -> Tensor:
    """``stored`` with the pending operations that the file names."""
    unknown = metadata.keys() - PENDING.keys()
    if unknown:
        raise pickle.UnpicklingError(
            f"a tensor of the file has the metadata {sorted(unknown)}, which Pellucid "
            "does not support; save a clone() of it"
        )
    return with_pending(stored, [name for name in PENDING if metadata.get(name)])


def _rebuild_parameter(
    data: Tensor, requires_grad: bool, hooks: Any, state: Any = None
) -> Any:
    if not isinstance(data, Tensor):
        raise TypeError("a parameter needs a tensor")
    return _with_state(pellucid.nn.Parameter(data, requires_grad), state)


def _rebuild_subclass(function: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor of a user's subclass, or one with attributes."""
    kind = known_function(kind)
    rebuild = known_function(function)
    if rebuild is _rebuild_ragged:  # its attributes are caches
        return _rebuild_ragged(*arguments)
    makes = rebuild in (
        *(rebuild_tensor, _rebuild_of_dtype, _rebuild_sparse, _rebuild_wrapper),
    )
    if not makes or not issubclass(kind, Tensor):
        raise pickle.UnpicklingError(
            f"a tensor of {kind!r:.100} is made by {function!r:.100}: only subclasses "
            "that have a storage or wrap other tensors are read"
        )
    tensor = rebuild(*arguments)
    is_whole = kind in (Tensor, type(tensor))
    return _with_state(tensor if is_whole else tensor.as_subclass(kind), state)


def _with_state(tensor: Any, state: Any) -> Any:
    """``tensor`` with its attributes: a dict, or a pair of a dict and slots."""
    if hasattr(type(tensor), "__setstate__"):
        tensor.__setstate__(state)
        return tensor
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    vars(tensor).update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(tensor, name, value)
    return tensor


_SCHEMES = (
    *(pellucid.per_tensor_affine, pellucid.per_channel_affine),
    *(pellucid.per_tensor_symmetric, pellucid.per_channel_symmetric),
    pellucid.per_channel_affine_float_qparams,
)


def constructors() -> dict[str, Any]:
    """The classes and functions that files may always use."""
    dtypes = {name: getattr(pellucid, name) for name in STORAGE_DTYPES.values()}
    names: dict[str, Any] = {
        "torch._utils _rebuild_tensor_v2": rebuild_tensor,
        "torch._utils _rebuild_tensor_v3": _rebuild_of_dtype,
        "torch._utils _rebuild_meta_tensor_no_storage": _rebuild_meta,
        "torch._utils _rebuild_sparse_tensor": _rebuild_sparse,
        "torch._utils _rebuild_wrapper_subclass": _rebuild_wrapper,
        "torch._utils _rebuild_qtensor": _rebuild_quantized,
        "torch.ao._quantized.narrow_weights rebuilt": _rebuild_narrow_weight,
        "torch._utils _rebuild_nested_tensor": _rebuild_nested,
        "torch.nested._internal.nested_tensor _rebuild_njt": _rebuild_ragged,
        "torch.nested._internal.nested_tensor NestedTensor": Tensor,
        # In the caches of jagged tensors: the state of a dim in PyTorch's compiler.
        "torch._dynamo.decorators _DimRange": Unread,
        "torch.serialization _get_layout": _layout_named,
        "torch._utils _rebuild_parameter": _rebuild_parameter,
        "torch._utils _rebuild_parameter_with_state": _rebuild_parameter,
        "torch._tensor _rebuild_from_type_v2": _rebuild_subclass,
        "torch Tensor": Tensor,
        "torch.storage UntypedStorage": pellucid.uint8,
        "torch Size": lambda sizes: pellucid.Size(sizes),
        "torch device": lambda *name: pellucid.device(*name),
        "collections OrderedDict": lambda items=(): OrderedDict(items),
        "collections Counter": lambda items=(): Counter(items),
        "_codecs encode": _encode,
    }
    for builtins in ("builtins", "__builtin__"):
        names[f"{builtins} set"] = lambda items=(): set(items)
        names[f"{builtins} frozenset"] = lambda items=(): frozenset(items)
        names[f"{builtins} complex"] = lambda real, imag=0.0: complex(real, imag)
        names[f"{builtins} bytearray"] = lambda data=b"": bytearray(data)
    names |= {str(dtype).replace(".", " "): dtype for dtype in TYPE_NAMES}
    names |= {f"torch {s}": dtypes[name] for s, name in STORAGE_DTYPES.items()}
    for storage, (_, integers) in QUANTIZED_STORAGES.items():
        names[f"torch {storage}"] = dtypes[integers]
    for scheme in _SCHEMES:
        names[str(scheme).replace(".", " ")] = scheme
    return names


def _encode(text: str, encoding: str) -> bytes:
    """Bytes as protocol 2 writes them."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes are written in latin1, not {encoding}")
    return text.encode("latin1")

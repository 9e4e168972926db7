"""``save`` and ``load``: PyTorch's file format, without running what a file says.

A file is a zip archive: ``data.pkl`` describes the object and names the storages, which
stand beside it as raw bytes. Files written here are read by PyTorch and the other way
round. Reading goes through ``_safe_pickle.py``: tensors, numbers, strings, containers
of them and objects of classes that the program allowed are built; anything else is
refused, unless the caller says that it trusts the file.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType
from typing import IO, Any

import pellucid
from pellucid import Tensor
from pellucid._pickled_names import find_named, public_name
from pellucid._safe_pickle import Reader

_File = str | os.PathLike[str] | IO[bytes]
# What `map_location` may be.
MAP_LOCATION = Callable[[Any, str], Any] | pellucid.device | str | dict[str, str] | None

# The names that PyTorch's files give to storages of each dtype.
_STORAGE_DTYPES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}


# Writing


class _Name:
    """A name of torch's in a pickle; torch need not be importable to write it."""

    def __init__(self, module: str, name: str) -> None:
        self.text = f"{module}\n{name}\n"

    def __call__(self) -> None:
        raise TypeError("names stand for functions of the reader")


class _StorageReference:
    """Stands in a pickle for bytes that are stored beside it."""

    def __init__(self, identifier: tuple[Any, ...]) -> None:
        self.identifier = identifier


_REBUILD_TENSOR = _Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = _Name("torch._utils", "_rebuild_parameter")
_STORAGE_NAMES = {
    dtype: _Name("torch", storage) for storage, dtype in _STORAGE_DTYPES.items()
}
_DTYPE_NAMES = {
    dtype: _Name("torch", dtype) for dtype in sorted({*_STORAGE_DTYPES.values()})
}
_DEVICE, _SIZE = _Name("torch", "device"), _Name("torch", "Size")


# The one in Python: the one in C writes no name that it cannot import.
_Pickler: Any = pickle._Pickler


class _Writer(_Pickler):  # type: ignore[misc]
    """Pickles tensors under torch's names and collects their storages."""

    dispatch = _Pickler.dispatch.copy()

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[int, tuple[str, Tensor]] = {}

    def persistent_id(self, value: object) -> Any:
        return value.identifier if isinstance(value, _StorageReference) else None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, pellucid.nn.Parameter):
            return _REBUILD_PARAMETER, (value.data, value.requires_grad, OrderedDict())
        if isinstance(value, Tensor):
            return self._reduce_tensor(value)
        if isinstance(value, pellucid.Size):
            return _SIZE, (tuple(value),)
        if isinstance(value, pellucid.device):
            return _DEVICE, (str(value),)
        if isinstance(value, BuiltinFunctionType) and public_name(value):
            return value.__name__
        return NotImplemented

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        if tensor.device.type != "cpu":
            raise ValueError(
                f"a tensor on {tensor.device} has no values to save; move it to the CPU"
            )
        arguments: tuple[Any, ...] = (
            self._storage_of(tensor),
            tensor.storage_offset(),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            tensor.requires_grad,
            OrderedDict(),
        )
        return _REBUILD_TENSOR, arguments

    def _storage_of(self, tensor: Tensor) -> _StorageReference:
        storage = tensor.untyped_storage()
        dtype = _dtype_name(tensor.dtype)
        count = storage.nbytes() // tensor.element_size()
        if storage.data_ptr() in self.storages:
            key, _ = self.storages[storage.data_ptr()]
        else:
            key = str(len(self.storages))
            whole = tensor.detach().as_strided((count,), (1,), 0)
            # Kept alive, so that no later storage gets the same address.
            self.storages[storage.data_ptr() or -len(self.storages)] = (key, whole)
        identifier = ("storage", _STORAGE_NAMES[dtype], key, "cpu", count)
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
        self.save(_DTYPE_NAMES[_dtype_name(value)])

    dispatch[_Name] = save_name
    dispatch[pellucid.dtype] = save_dtype
    dispatch[FunctionType] = save_global


def _dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def save(
    obj: Any,
    f: _File,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Writes ``obj``, usually a state dict, to a path or a binary file.

    Objects other than tensors, numbers, strings and containers are written by reference
    to their class, as pickle does; :func:`load` takes them from trusted files alone.

    Example::

        torch.save(model.state_dict(), "model.pt")
    """
    if not _use_new_zipfile_serialization:
        raise NotImplementedError("only the zip format is written")
    if isinstance(f, str | os.PathLike):
        folder = os.path.dirname(os.path.abspath(f))
        if not os.path.isdir(folder):
            raise RuntimeError(f"save: there is no folder {folder}; make it first")
    description = io.BytesIO()
    writer = _Writer(description, pickle_protocol)
    writer.dump(obj)
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", description.getvalue())
        archive.writestr("archive/byteorder", b"little")
        for key, whole in writer.storages.values():
            archive.writestr(f"archive/data/{key}", _bytes_of(whole))
        archive.writestr("archive/version", b"3\n")


def _bytes_of(whole: Tensor) -> bytes:
    if whole.numel() == 0:
        return b""
    if whole.dtype == pellucid.bfloat16:  # which NumPy has not
        whole = whole.view(pellucid.int16)
    values: bytes = whole.numpy().tobytes()
    return values


# Reading

# What zipfile raises for bytes that are not a whole, plain archive.
_DAMAGE = (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, ValueError)


@contextmanager
def naming_damage() -> Iterator[None]:
    """What a damaged file makes fail is an UnpicklingError that says so."""
    try:
        yield
    except _DAMAGE as error:
        raise pickle.UnpicklingError(
            "the file is no zip archive as PyTorch 1.6 and later write it, or it is "
            f"damaged: {error}"
        ) from error


class Archive:
    """The storages of one file, each read once and checked against its description."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        names = archive.namelist()
        described = [name for name in names if name.endswith("data.pkl")]
        if len(described) != 1:
            raise pickle.UnpicklingError("the file is a zip archive without data.pkl")
        self._prefix = described[0].removesuffix("data.pkl")
        order = self.read("byteorder") if self._prefix + "byteorder" in names else b""
        if order not in (b"", b"little"):
            raise ValueError(f"the file's byte order is {order!r}, not little")
        self._storages: dict[str, Tensor] = {}

    def records(self) -> list[str]:
        """The names of what the file holds."""
        names = self._archive.namelist()
        return [name.removeprefix(self._prefix) for name in names]

    def read(self, name: str) -> bytes:
        """The bytes of one record."""
        entry = self._archive.getinfo(self._prefix + name)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise pickle.UnpicklingError(f"{entry.filename} is compressed")
        return self._archive.read(entry)

    def load(self) -> Any:
        reader = Reader(_constructors(), self._storage, _safe_classes())
        return reader.load(self.read("data.pkl"))

    def load_trusted(self) -> Any:
        """The object, importing and calling whatever the file names."""
        return _TrustedUnpickler(self.read("data.pkl"), self._storage).load()

    def _storage(self, identifier: Any) -> Tensor:
        """The storage of a persistent id, as a tensor of one dimension."""
        kind, dtype, key, _, count = identifier
        if kind != "storage" or not isinstance(dtype, pellucid.dtype):
            raise pickle.UnpicklingError(f"unknown reference {identifier!r:.200}")
        if key not in self._storages:
            data = bytearray(self.read(f"data/{key}"))
            found = pellucid.empty(0, dtype=dtype)
            if data:
                found = pellucid.frombuffer(data, dtype=dtype)
            if found.numel() != count:
                raise pickle.UnpicklingError(
                    f"storage {key} has {found.numel()} elements, not {count}"
                )
            self._storages[key] = found
        storage = self._storages[key]
        return storage if storage.dtype == dtype else storage.view(dtype)


class _TrustedUnpickler(pickle.Unpickler):
    """Python's own, which finds here what files name as PyTorch's."""

    def __init__(self, data: bytes, storage: Callable[[Any], Tensor]) -> None:
        super().__init__(io.BytesIO(data))
        self._storage = storage

    def persistent_load(self, pid: Any) -> Tensor:
        with naming_damage():
            return self._storage(pid)

    def find_class(self, module_name: str, global_name: str) -> Any:
        if module_name.partition(".")[0] != "torch":
            return super().find_class(module_name, global_name)
        made_here = _constructors().get(f"{module_name} {global_name}")
        return made_here or find_named(module_name, global_name)


def _rebuild_tensor(
    storage: Tensor,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    """A view of ``storage``, which must hold all its elements."""
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    within = offset >= 0 and (0 in size or last < storage.numel())
    if not within or min((*size, *stride, 0)) < 0:
        raise ValueError(
            f"a tensor of size {size}, stride {stride} and offset {offset} does not "
            f"fit a storage of {storage.numel()} elements"
        )
    view: Tensor = storage.as_strided(size, stride, offset)
    return view.requires_grad_(requires_grad) if requires_grad else view


def _rebuild_parameter(
    data: Tensor, requires_grad: bool, hooks: Any, state: Any = None
) -> Any:
    if not isinstance(data, Tensor):
        raise TypeError("a parameter is made of a tensor")
    return pellucid.nn.Parameter(data, requires_grad)


def _constructors() -> dict[str, Any]:
    """What a file may name."""
    dtypes = {name: getattr(pellucid, name) for name in _STORAGE_DTYPES.values()}
    names: dict[str, Any] = {
        "torch._utils _rebuild_tensor_v2": _rebuild_tensor,
        "torch._utils _rebuild_parameter": _rebuild_parameter,
        "torch._utils _rebuild_parameter_with_state": _rebuild_parameter,
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
    names |= {f"torch {name}": dtype for name, dtype in dtypes.items()}
    names |= {f"torch {s}": dtypes[name] for s, name in _STORAGE_DTYPES.items()}
    return names


def _encode(text: str, encoding: str) -> bytes:
    """How protocol 2 writes bytes."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes are written in latin1, not {encoding}")
    return text.encode("latin1")


def load(
    f: _File,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what :func:`save`, here or in PyTorch, wrote to a path or binary file.

    Files are read without running code: objects other than tensors, numbers, strings
    and containers are refused with UnpicklingError, unless their class was given to
    :func:`add_safe_globals`. ``weights_only=False`` takes whole models and anything
    else, and runs what the file says: only for files that you trust. Tensors come to
    the CPU.

    Example::

        model.load_state_dict(torch.load("model.pt"))
    """
    _check_location(map_location)
    with naming_damage():
        file = zipfile.ZipFile(f)
    with file:
        with naming_damage():
            archive = Archive(file)
            if weights_only is not False:
                return archive.load()
        return archive.load_trusted()


def _check_location(map_location: Any) -> None:
    if map_location is None or callable(map_location):
        return
    wanted = map_location.values() if isinstance(map_location, dict) else [map_location]
    for location in wanted:
        if pellucid.device(location).type != "cpu":
            raise RuntimeError(
                f"tensors cannot be loaded to {location}: Pellucid runs on the CPU; "
                "use map_location='cpu'"
            )


_safe_globals: list[Any] = []


def _safe_classes() -> dict[str, Any]:
    """What the program allows files to name, beside what they always may."""
    classes: dict[str, Any] = {}
    for entry in _safe_globals:
        if isinstance(entry, tuple):
            value, path = entry
            module, _, name = path.rpartition(".")
        else:
            value, module, name = entry, entry.__module__, entry.__qualname__
        classes[f"{module} {name}"] = value
    return classes


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets :func:`load` make objects of these classes and call these functions, from
    any file. An entry may be a pair: the value, and the path that files name it by.
    """
    _safe_globals.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` was given."""
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Forgets what ``add_safe_globals`` was given."""
    _safe_globals.clear()


class safe_globals:
    """``add_safe_globals`` for the length of a ``with`` statement."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._added = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(self, *_: object) -> None:
        _safe_globals[:] = self._before

"""Weights in the safetensors format: named tensors, no executable content.

The functions have the names and arguments of ``safetensors.torch``. A file is eight
bytes with the header's length, the header (JSON: dtype, shape and offsets of each
tensor), and the tensors' bytes. The header is validated completely before it is used.
``serialization`` has PyTorch's own format.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import pellucid
from pellucid import Tensor

__all__ = [
    "SafetensorError",
    "load",
    "load_file",
    "load_model",
    "safe_open",
    "save",
    "save_file",
    "save_model",
]

_Path = str | os.PathLike[str]

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
    "C64": "complex64",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000


class SafetensorError(Exception):
    """The bytes are not a safetensors file, or the file is damaged."""


class _Entry:
    """A header's entry for one tensor: dtype, shape and offsets."""

    def __init__(self, name: str, described: Any) -> None:
        try:
            dtype = _DTYPES[described["dtype"]]
            shape = tuple(described["shape"])
            start, end = described["data_offsets"]
        except (KeyError, TypeError, ValueError) as error:
            raise SafetensorError(
                f"tensor {name!r} is described by {described!r:.200}; expected dtype "
                f"(one of {', '.join(_DTYPES)}), shape and data_offsets"
            ) from error
        numbers = (*shape, start, end)
        if not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise SafetensorError(f"tensor {name!r} has sizes or offsets {numbers}")
        self.name, self.dtype, self.shape = name, getattr(pellucid, dtype), shape
        self.start, self.end = start, end
        count = 1
        for n in shape:
            count *= n
        self.count = count
        if count * self.dtype.itemsize != end - start:
            raise SafetensorError(
                f"tensor {name!r} of {count} x {dtype} has {end - start} bytes"
            )


class _Contents:
    """A validated header over the bytes of a file."""

    def __init__(self, data: Any) -> None:
        self._data = data
        size = len(data)
        if size < 8:
            raise SafetensorError(f"the file has {size} bytes, less than a header")
        length = int.from_bytes(data[:8], "little")
        if length > min(_LONGEST_HEADER, size - 8):
            raise SafetensorError(
                f"the header's length is {length} in a file of {size} bytes"
            )
        self._start = 8 + length
        try:
            header = json.loads(bytes(data[8 : self._start]).decode())
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise SafetensorError(f"the header is not JSON: {error}") from error
        if not isinstance(header, dict):
            raise SafetensorError(f"the header is a {type(header).__name__}")
        self.metadata: dict[str, str] | None = header.pop("__metadata__", None)
        self.entries = {name: _Entry(name, value) for name, value in header.items()}
        self._check_places(size - self._start)

    def _check_places(self, size: int) -> None:
        """Checks that the tensors are contiguous and fill the file."""
        end = 0
        for entry in sorted(self.entries.values(), key=lambda e: (e.start, e.end)):
            if entry.start != end:
                raise SafetensorError(
                    f"tensor {entry.name!r} starts at {entry.start}, not at {end}"
                )
            end = entry.end
        if end != size:
            raise SafetensorError(f"the tensors have {end} bytes, the file {size}")

    def tensor(self, name: str) -> Tensor:
        if name not in self.entries:
            raise SafetensorError(f"the file has no tensor {name!r}")
        entry = self.entries[name]
        if entry.count == 0:
            return pellucid.empty(entry.shape, dtype=entry.dtype)
        flat = pellucid.frombuffer(
            self._data,
            dtype=entry.dtype,
            count=entry.count,
            offset=self._start + entry.start,
        )
        return flat.view(entry.shape)


def _mapped(filename: _Path) -> Any:
    """The file's bytes, mapped privately: writes change only this process's copy."""
    with open(filename, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _check_device(device: Any) -> None:
    if pellucid.device(device).type != "cpu":
        raise RuntimeError(f"tensors cannot be loaded to {device}: use 'cpu'")


def load_file(filename: _Path, device: Any = "cpu") -> dict[str, Tensor]:
    """The named tensors of a file, which is mapped and read on demand."""
    _check_device(device)
    contents = _Contents(_mapped(filename))
    return {name: contents.tensor(name) for name in contents.entries}


def load(data: bytes) -> dict[str, Tensor]:
    """The named tensors of a file's bytes."""
    contents = _Contents(bytearray(data))
    return {name: contents.tensor(name) for name in contents.entries}


class safe_open:
    """A file whose tensors are read one by one.

    Example::

        with safe_open("model.safetensors", framework="pt") as file:
            weight = file.get_tensor("weight")
    """

    def __init__(
        self, filename: _Path, framework: str = "pt", device: Any = "cpu"
    ) -> None:
        if framework not in ("pt", "torch", "pytorch"):
            raise SafetensorError(f"framework is 'pt', not {framework!r}")
        _check_device(device)
        self._contents = _Contents(_mapped(filename))

    def __enter__(self) -> safe_open:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Does nothing: tensors keep the mapping alive."""

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return list(self._contents.entries)

    def metadata(self) -> dict[str, str] | None:
        """The metadata strings that were written with the tensors."""
        return self._contents.metadata

    def get_tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return self._contents.tensor(name)

    def get_slice(self, name: str) -> Tensor:
        """The tensor, to take slices of: only the bytes used are read."""
        return self._contents.tensor(name)


def _described(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None
) -> tuple[bytes, list[Tensor]]:
    """(header with its length, the tensors in the file's order)."""
    if not isinstance(tensors, Mapping):
        raise ValueError(
            f"safetensors are written from a dict, not {type(tensors).__name__}"
        )
    header: dict[str, Any] = {}
    if metadata is not None:
        header["__metadata__"] = dict(metadata)
    owners: dict[int, str] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{name!r} is a {type(tensor).__name__}, not a Tensor")
        owner = owners.setdefault(tensor.untyped_storage().data_ptr(), name)
        if owner != name and tensor.numel():
            raise RuntimeError(
                f"{name!r} and {owner!r} share memory, which the format cannot "
                "express: write one of them, or a clone"
            )
    order = sorted(tensors, key=lambda n: (-tensors[n].dtype.itemsize, n))
    place = 0
    for name in order:
        tensor = tensors[name]
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in _NAMES:
            raise ValueError(f"{name!r} has dtype {dtype}, which the format lacks")
        end = place + tensor.numel() * tensor.dtype.itemsize
        header[name] = {
            "dtype": _NAMES[dtype],
            "shape": list(tensor.shape),
            "data_offsets": [place, end],
        }
        place = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, [tensors[name] for name in order]


def save(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of a file with these tensors."""
    head, ordered = _described(tensors, metadata)
    size = sum(t.numel() * t.dtype.itemsize for t in ordered)
    body = bytearray(size)
    place = 0
    for tensor in ordered:
        if tensor.numel():
            whole = pellucid.frombuffer(
                body, dtype=tensor.dtype, count=tensor.numel(), offset=place
            )
            whole.copy_(tensor.detach().reshape(-1))
            place += tensor.numel() * tensor.dtype.itemsize
    return head + bytes(body)


def save_file(
    tensors: Mapping[str, Tensor],
    filename: _Path,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes the tensors to a file, with optional metadata strings."""
    data = save(tensors, metadata)
    with open(filename, "wb") as file:
        file.write(data)


def save_model(
    model: Any, filename: _Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Writes a module's state dict; tensors that share memory are written once."""
    names: dict[int, str] = {}
    notes = dict(metadata or {})
    tensors = {}
    for name, tensor in model.state_dict().items():
        owner = names.setdefault(tensor.untyped_storage().data_ptr(), name)
        if owner != name and tensor.numel():
            notes[name] = owner
        else:
            tensors[name] = tensor.contiguous()
    save_file(tensors, filename, notes or None)


def load_model(
    model: Any, filename: _Path, strict: bool = True, device: Any = "cpu"
) -> tuple[list[str], list[str]]:
    """Loads a file of ``save_model``; returns (missing, unexpected) names."""
    state = load_file(filename, device)
    missing, unexpected = model.load_state_dict(state, strict=False)
    shared: dict[int, list[str]] = {}
    for name, tensor in model.state_dict().items():
        shared.setdefault(tensor.untyped_storage().data_ptr(), []).append(name)
    loaded = {
        n for names in shared.values() if any(k in state for k in names) for n in names
    }
    missing = [name for name in missing if name not in loaded]
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"the file does not fit {type(model).__name__}: missing {missing}, "
            f"unexpected {unexpected}"
        )
    return missing, unexpected

"""The metadata of a checkpoint: PyTorch's records, in the file ``.metadata``."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pellucid as torch

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: its offsets in the whole, and its sizes."""

    offsets: Any
    sizes: Any


class _MEM_FORMAT_ENCODING(Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


class _Layout:
    """``torch.strided``, as encoded in files."""

    def __reduce__(self) -> Any:
        from pellucid.serialization._format.writer import _Name

        return _Name("torch.serialization", "_get_layout"), ("torch.strided",)


@dataclass
class TensorProperties:
    """A tensor's dtype and gradient."""

    dtype: Any = torch.float32
    requires_grad: bool = False

    def as_stored(self) -> tuple[Any, ...]:
        """The state in files."""
        order = _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
        return self.dtype, _Layout(), self.requires_grad, order, False

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple):
            self.dtype, _, self.requires_grad, *_ = state
        else:
            vars(self).update(state)


@dataclass
class TensorStorageMetadata:
    """A tensor and its parts."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is not a tensor."""


@dataclass(frozen=True)
class MetadataIndex:
    """Identifies a part of a value."""

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)


@dataclass
class StorageMeta:
    """The saving process; not used here."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """A checkpoint: its values, and the locations of their parts."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = "1.0.0"

"""``torch.distributed.checkpoint``: distributed checkpoints."""

from pellucid.distributed.checkpoint._state import async_save, load, save
from pellucid.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    DefaultSavePlanner,
)
from pellucid.distributed.checkpoint.filesystem import (
    FileSystemReader,
    FileSystemWriter,
)
from pellucid.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "Metadata",
    "TensorStorageMetadata",
    "async_save",
    "load",
    "save",
]

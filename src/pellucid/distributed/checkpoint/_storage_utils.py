"""Chooses the storage of a checkpoint by its id."""

from __future__ import annotations

import os
from typing import Any

from pellucid.distributed.checkpoint.filesystem import (
    FileSystemReader,
    FileSystemWriter,
)


def _storage_setup(
    storage: Any, checkpoint_id: str | os.PathLike[str] | None, reader: bool = False
) -> Any:
    """The storage, reset to the checkpoint; without one, that of a folder."""
    if storage:
        if checkpoint_id is not None:
            storage.reset(checkpoint_id)
        return storage
    if not checkpoint_id:
        raise RuntimeError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is "
            "None."
        )
    kind: Any = FileSystemReader if reader else FileSystemWriter
    if not kind.validate_checkpoint_id(checkpoint_id):
        raise RuntimeError(
            "Cannot detect which StorageReader or StorageWriter to use. "
            "Please specify the storage_reader/storage_writer."
        )
    return kind(checkpoint_id)

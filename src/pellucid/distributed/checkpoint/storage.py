"""Storages: where the bytes of a checkpoint are.

``save`` and ``load`` call the methods in the order in which they are defined here.
``filesystem.py`` implements them for folders.
"""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from pellucid.distributed.checkpoint.metadata import (
    Metadata,
    MetadataIndex,
    StorageMeta,
)
from pellucid.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
)
from pellucid.futures import Future

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]

_Id = str | os.PathLike[str]


@dataclass(frozen=True)
class WriteResult:
    """A stored item: its bytes, and what the storage notes about it."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes a checkpoint; each rank has one."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: _Id | None = None) -> None:
        """Begins another checkpoint, named by ``checkpoint_id`` if that is given: a
        folder, a file, a key.
        """

    @abc.abstractmethod
    def set_up_storage_writer(
        self, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Tells whether this rank coordinates. A method with ``**kwargs`` also gets
        ``rank`` and ``use_collectives``.
        """

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """This rank's plan, with ``storage_data`` as needed; called on all ranks."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """The plans of all ranks; called on the coordinator."""

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Stores the items of a plan, whose values ``planner.resolve_data`` gives;
        called on all ranks. Tensors may be views, and on any device.
        """

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Stores the metadata, by which the checkpoint is complete; called on the
        coordinator with the results of all ranks.
        """

    def _delete_outdated(self) -> None:  # noqa: B027 - one that replaces files has it
        """Deletes what this rank has stored for the checkpoint that the new one
        replaces; called on all ranks once the metadata is stored.
        """

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Id) -> bool:
        """Whether the id names something that this storage can write."""

    def storage_meta(self) -> StorageMeta | None:
        """What planners may know about the storage."""
        return None


class StorageReader(abc.ABC):
    """Reads a checkpoint; each rank has one."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: _Id | None = None) -> None:
        """Begins with another checkpoint, named by ``checkpoint_id`` if given."""

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The metadata; with ``rank``, of what that rank saved by itself."""

    @abc.abstractmethod
    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Takes the metadata and whether this rank coordinates. A method with
        ``**kwargs`` also gets ``rank`` and ``use_collectives``.
        """

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """This rank's plan; called on all ranks."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans of all ranks; called on the coordinator."""

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Reads the items of a plan: bytes for ``planner.load_bytes``, and into the
        tensors of ``planner.resolve_tensor``; called on all ranks.
        """

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Id) -> bool:
        """Whether the id names something that this storage can read."""

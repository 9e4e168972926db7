"""Planners: which values of a state are stored where, and what fills a state.

``save`` and ``load`` call the methods in the order in which they are defined here.
``default_planner.py`` implements them; most planners override one of its methods.
"""

from __future__ import annotations

import abc
import io
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar

import pellucid as torch
from pellucid.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(Enum):
    """What an item stores: a tensor, a part of one, or bytes."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What an item loads: a tensor or bytes."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """The number of bytes of a value."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A part of a tensor, and the tensor's properties and size."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: torch.Size


@dataclass(frozen=True)
class WriteItem:
    """A value to store."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of the whole tensor; None for other values."""
        if self.tensor_data is None:
            return None
        count = math.prod(self.tensor_data.size)
        return count * int(self.tensor_data.properties.dtype.itemsize)


@dataclass(frozen=True)
class ReadItem:
    """A box of a stored part, and where it goes in a part of the state."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: torch.Size
    storage_index: MetadataIndex
    storage_offsets: torch.Size
    lengths: torch.Size


@dataclass(frozen=True)
class SavePlan:
    """What a rank stores. Unless ``usable``, it is the plan of the save before."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a rank loads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Plans a save, and hands out the values.

    Example::

        class Half(DefaultSavePlanner):
            def transform_object(self, write_item, object):
                object = super().transform_object(write_item, object)
                return object.half() if isinstance(object, torch.Tensor) else object
    """

    # What the last save planned, by the name of the planner: its rank's plan before
    # and after the coordinator's, and the coordinator's plans and metadata.
    _cached_save_plan: ClassVar[dict[str, SavePlan]] = {}
    _cached_final_save_plan: ClassVar[dict[str, SavePlan]] = {}
    _cached_all_plans: ClassVar[dict[str, list[SavePlan]]] = {}
    _cached_global_plan: ClassVar[dict[str, list[SavePlan]]] = {}
    _cached_metadata: ClassVar[dict[str, Metadata]] = {}

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Takes the state to save; called on all ranks."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this rank proposes to store; called on all ranks."""

    @abc.abstractmethod
    def create_global_plan(
        self, all_plans: list[SavePlan]
    ) -> tuple[list[SavePlan], Metadata]:
        """What each rank stores, and the metadata; called on the coordinator."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Takes the coordinator's plan for this rank; called on all ranks."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> torch.Tensor | io.BytesIO:
        """The value of an item. Called by the storage, from any thread, once or more
        for each item; expensive transformations belong here.
        """


class LoadPlanner(abc.ABC):
    """Plans a load, and hands out the tensors to fill."""

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Takes the state to fill and the checkpoint's metadata; on all ranks."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this rank needs; called on all ranks."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each rank loads; called on the coordinator."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Takes the coordinator's plan for this rank; called on all ranks."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Sets a value of the state that is not a tensor."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """A file to read an item's bytes into."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        """The tensor that the storage copies an item into."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        """Called with the tensor of ``resolve_tensor`` once it is filled."""

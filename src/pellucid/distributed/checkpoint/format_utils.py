"""Converts distributed checkpoints to files of ``torch.save``, and back; loads such
files into distributed states.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.checkpoint._nested_dict import flatten_state_dict
from pellucid.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    _EmptyStateDictLoadPlanner,
)
from pellucid.distributed.checkpoint.filesystem import (
    FileSystemReader,
    FileSystemWriter,
    _fill,
    _finished,
)
from pellucid.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from pellucid.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
)
from pellucid.distributed.checkpoint.state_dict_loader import _load_state_dict
from pellucid.distributed.checkpoint.state_dict_saver import _save_state_dict
from pellucid.distributed.checkpoint.storage import StorageReader
from pellucid.distributed.checkpoint.utils import narrow_tensor_by_index
from pellucid.futures import Future

__all__ = [
    "BroadcastingTorchSaveReader",
    "DynamicMetaLoadPlanner",
    "dcp_to_torch_save",
    "torch_save_to_dcp",
]

_Path = str | os.PathLike[str]


def _refused(name: str, what: object) -> RuntimeError:
    return RuntimeError(
        f"Non-tensor value identified at {name}. At this time {type(what).__name__} "
        "only supports loading Tensors."
    )


class BroadcastingTorchSaveReader(StorageReader):
    """Reads a file of ``torch.save`` on the coordinator and broadcasts its tensors, of
    which each rank takes its parts. With ``DynamicMetaLoadPlanner``.

    Example::

        load(state, storage_reader=BroadcastingTorchSaveReader(),
             planner=DynamicMetaLoadPlanner(), checkpoint_id="model.pt")
    """

    def __init__(
        self, checkpoint_id: _Path | None = None, coordinator_rank: int = 0
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.coordinator_rank = coordinator_rank

    def reset(self, checkpoint_id: _Path | None = None) -> None:
        self.checkpoint_id = checkpoint_id

    def read_metadata(self) -> Metadata:
        """None: the planner makes it from the state."""
        return Metadata(state_dict_metadata={})

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool) -> None:
        self.is_coordinator = is_coordinator
        if is_coordinator and dist.get_rank() != self.coordinator_rank:
            raise AssertionError(
                f"Coordinator rank mismatch: expected {self.coordinator_rank}, "
                f"got {dist.get_rank()}"
            )
        if self.checkpoint_id is None:
            raise AssertionError("checkpoint_id must be the path of the file")

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        assert isinstance(planner, DefaultLoadPlanner)
        assert self.checkpoint_id is not None
        stored: dict[str, Any] = {}
        if self.is_coordinator:
            stored = torch.load(self.checkpoint_id, map_location="cpu")
            if planner.flatten_state_dict:
                stored, _ = flatten_state_dict(stored)
        for item in plan.items:
            name = item.storage_index.fqn
            if item.type == LoadItemType.BYTE_IO:
                raise _refused(name, self)
            if self.is_coordinator:
                tensor = stored[name].detach().contiguous()
            else:
                like = planner.state_dict[name]
                tensor = torch.empty(like.shape, dtype=like.dtype)
            dist.broadcast(tensor, src=self.coordinator_rank)
            box = narrow_tensor_by_index(tensor, item.storage_offsets, item.lengths)
            _fill(item, box, planner)
        return _finished(None)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        return os.path.isfile(checkpoint_id)


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """Takes the metadata from the state to load, for storages that have none."""

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        super().set_up_planner(state_dict, metadata, is_coordinator)
        described: dict[str, Any] = {}
        for name, tensor in self.state_dict.items():
            if not isinstance(tensor, torch.Tensor):
                raise _refused(name, self)
            whole = ChunkStorageMetadata(torch.Size([0] * tensor.ndim), tensor.size())
            described[name] = TensorStorageMetadata(
                TensorProperties(dtype=tensor.dtype),
                tensor.size(),
                [whole],
            )
        self.metadata = Metadata(described)


def dcp_to_torch_save(dcp_checkpoint_dir: _Path, torch_save_path: _Path) -> None:
    """Writes the whole state of a checkpoint into one file, by one process."""
    state: dict[str, Any] = {}
    _load_state_dict(
        state,
        storage_reader=FileSystemReader(dcp_checkpoint_dir),
        planner=_EmptyStateDictLoadPlanner(),
        no_dist=True,
    )
    torch.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: _Path, dcp_checkpoint_dir: _Path) -> None:
    """Makes a checkpoint from a file, by one process. The file must be trusted, like
    pickles.
    """
    state = torch.load(torch_save_path, weights_only=False)
    writer = FileSystemWriter(dcp_checkpoint_dir)
    _save_state_dict(state, storage_writer=writer, no_dist=True)


def main() -> None:
    """The command: ``format_utils.py torch_to_dcp|dcp_to_torch SOURCE TARGET``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["torch_to_dcp", "dcp_to_torch"])
    parser.add_argument("src", help="the file or checkpoint")
    parser.add_argument("dst", help="the checkpoint or file to write")
    given = parser.parse_args()
    if not os.path.exists(given.src):
        parser.error(f"there is no {given.src}")
    to_file = given.mode == "dcp_to_torch"
    convert = dcp_to_torch_save if to_file else torch_save_to_dcp
    convert(given.src, given.dst)


if __name__ == "__main__":
    main()

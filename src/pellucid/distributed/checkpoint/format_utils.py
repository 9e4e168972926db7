"""Converts distributed checkpoints to files of ``torch.save``, and back."""

from __future__ import annotations

import os
from typing import Any

import pellucid as torch
from pellucid.distributed.checkpoint._state import load, save
from pellucid.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from pellucid.distributed.checkpoint.filesystem import (
    FileSystemReader,
    FileSystemWriter,
)

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Writes the whole state of a checkpoint into one file, by one process."""
    state: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner()
    reader = FileSystemReader(dcp_checkpoint_dir)
    load(state, storage_reader=reader, planner=planner, no_dist=True)
    torch.save(state, torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Makes a checkpoint from a file, by one process. The file must be trusted, like
    pickles.
    """
    state = torch.load(torch_save_path, weights_only=False)
    save(state, storage_writer=FileSystemWriter(dcp_checkpoint_dir), no_dist=True)

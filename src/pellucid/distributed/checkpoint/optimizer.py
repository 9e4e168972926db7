"""Loads the state of an optimizer that FullyShardedDataParallel has sharded."""

from __future__ import annotations

from typing import Any

import pellucid as torch
from pellucid.distributed.checkpoint._nested_dict import unflatten_state_dict
from pellucid.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    TensorStorageMetadata,
)
from pellucid.distributed.checkpoint.planner import LoadPlanner
from pellucid.distributed.checkpoint.state_dict_loader import _load_state_dict
from pellucid.distributed.checkpoint.storage import StorageReader
from pellucid.distributed.tensor import DTensor

__all__ = ["load_sharded_optimizer_state_dict"]


def load_sharded_optimizer_state_dict(
    model_state_dict: STATE_DICT_TYPE,
    optimizer_key: str,
    storage_reader: StorageReader,
    planner: LoadPlanner | None = None,
) -> STATE_DICT_TYPE:
    """The state under ``optimizer_key`` of a checkpoint, ``{optimizer_key: state}``.

    Its tensors are placed as the parameters of the same names and sizes in the model's
    state are; others are whole.

    Example::

        state = load_sharded_optimizer_state_dict(
            model.state_dict(), "optim", FileSystemReader("checkpoint"))
        FSDP.optim_state_dict_to_load(model, optimizer, state["optim"])
    """
    metadata = storage_reader.read_metadata()
    state: dict[str, Any] = {}
    for name, described in metadata.state_dict_metadata.items():
        path = metadata.planner_data[name]
        if path[0] != optimizer_key:
            continue
        state[name] = None
        if isinstance(described, TensorStorageMetadata):
            parameter = model_state_dict.get(path[2]) if len(path) > 2 else None
            state[name] = _empty(described, parameter)
    _load_state_dict(state, storage_reader, planner=planner)
    return unflatten_state_dict(state, metadata.planner_data)


def _empty(described: TensorStorageMetadata, parameter: Any) -> torch.Tensor:
    """A tensor to fill, placed as the parameter."""
    dtype, size = described.properties.dtype, tuple(described.size)
    if isinstance(parameter, DTensor) and tuple(parameter.shape) == size:
        local = torch.empty_like(parameter.to_local(), dtype=dtype)
        return DTensor(local, parameter._spec)
    return torch.empty(size, dtype=dtype)

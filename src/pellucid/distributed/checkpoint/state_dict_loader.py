"""``load``: a planner says what of a checkpoint each rank needs, a storage reads it."""

from __future__ import annotations

import inspect
import logging
import os
import warnings
from typing import Any

import pellucid.distributed as dist
from pellucid.distributed.checkpoint._calls import (
    accepts_storage_second,
    given_rank,
    warn_of_single_process,
)
from pellucid.distributed.checkpoint._storage_utils import _storage_setup
from pellucid.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    _EmptyStateDictLoadPlanner,
)
from pellucid.distributed.checkpoint.metadata import Metadata
from pellucid.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from pellucid.distributed.checkpoint.stateful import Stateful
from pellucid.distributed.checkpoint.storage import StorageReader
from pellucid.distributed.checkpoint.utils import _DistWrapper

__all__ = ["load", "load_state_dict"]

logger = logging.getLogger(__name__)

_Id = str | os.PathLike[str]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: dist.ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """Deprecated: ``load``, which calls no ``state_dict`` methods."""
    warnings.warn(
        "`load_state_dict` is deprecated and will be removed in future versions. "
        "Please use `load` instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_reader.reset()
    _load_state_dict(
        state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner
    )


@accepts_storage_second
def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: _Id | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: dist.ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Fills a state from a checkpoint: tensors in place, other values replaced.

    The state determines what is loaded and how it is placed; the checkpoint may be from
    another number of processes, other placements, or PyTorch. All ranks have states of
    the same names. Objects with ``state_dict`` and ``load_state_dict`` receive their
    state. CheckpointException, on all ranks, has the errors of each.
    """
    no_dist = warn_of_single_process("load", no_dist)
    reader = _storage_setup(storage_reader, checkpoint_id, reader=True)
    plain = {}
    for key in sorted(state_dict):
        value = state_dict[key]
        plain[key] = value.state_dict() if isinstance(value, Stateful) else value
    _load_state_dict(
        state_dict=plain,
        storage_reader=reader,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
    )
    for key, loaded in plain.items():
        value = state_dict.get(key)
        if isinstance(value, Stateful):
            value.load_state_dict(loaded)
        else:
            state_dict[key] = loaded


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: dist.ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """``load`` into a state of values."""
    ranks = _DistWrapper(process_group, not no_dist, coordinator_rank)
    plans = planner or DefaultLoadPlanner()

    def local_step() -> LoadPlan:
        metadata, use_collectives = _metadata_of(storage_reader, ranks.rank)
        plans.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        set_up = storage_reader.set_up_storage_reader
        named = given_rank(set_up, ranks.rank, use_collectives)
        set_up(metadata, ranks.is_coordinator, **named)
        return storage_reader.prepare_local_plan(plans.create_local_plan())

    def global_step(local_plans: list[LoadPlan]) -> list[LoadPlan]:
        local_plans = plans.create_global_plan(local_plans)
        return storage_reader.prepare_global_plan(local_plans)

    plan = ranks.reduce_scatter("plan", local_step, global_step)

    def read_data() -> None:
        storage_reader.read_data(plans.finish_plan(plan), plans).wait()

    ranks.all_gather("read", read_data)


def _metadata_of(reader: StorageReader, rank: int) -> tuple[Metadata, bool]:
    """The metadata, and whether it is that of all ranks: without it, a rank's own of a
    save without collectives.
    """
    try:
        return reader.read_metadata(), True
    except Exception:
        if "kwargs" not in inspect.signature(reader.read_metadata).parameters:
            raise
        try:
            found = reader.read_metadata(rank=rank)
        except FileNotFoundError:
            pass
        else:
            logger.warning("there is no metadata of all ranks: rank %s's is read", rank)
            return found, False
        raise


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: _Id | None = None,
    storage_reader: StorageReader | None = None,
    process_group: dist.ProcessGroup | None = None,
) -> dict[str, Any]:
    """The values of a checkpoint, or those named by ``keys``, wholly in each rank."""
    no_dist = warn_of_single_process("load", False)
    reader = _storage_setup(storage_reader, checkpoint_id, reader=True)
    state: dict[str, Any] = {}
    _load_state_dict(
        state_dict=state,
        storage_reader=reader,
        process_group=process_group,
        no_dist=no_dist,
        planner=_EmptyStateDictLoadPlanner({keys} if isinstance(keys, str) else keys),
    )
    return state

"""``save`` and ``async_save``: a planner says what each rank stores, a storage stores
it. First all ranks plan together, then each writes, then the coordinator finishes, then
each deletes what it wrote before.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pellucid.distributed as dist
from pellucid.distributed.checkpoint._async_executors import (
    execute_in_process,
    execute_on_thread,
)
from pellucid.distributed.checkpoint._calls import (
    accepts_storage_second,
    given_rank,
    warn_of_single_process,
)
from pellucid.distributed.checkpoint._storage_utils import _storage_setup
from pellucid.distributed.checkpoint.default_planner import DefaultSavePlanner
from pellucid.distributed.checkpoint.metadata import STATE_DICT_TYPE, Metadata
from pellucid.distributed.checkpoint.planner import SavePlan, SavePlanner
from pellucid.distributed.checkpoint.staging import (
    AsyncStager,
    DefaultStager,
    StagingOptions,
)
from pellucid.distributed.checkpoint.stateful import Stateful
from pellucid.distributed.checkpoint.storage import StorageWriter, WriteResult
from pellucid.distributed.checkpoint.utils import _DistWrapper

__all__ = [
    "AsyncCheckpointerType",
    "AsyncSaveResponse",
    "async_save",
    "save",
    "save_state_dict",
]

_Id = str | os.PathLike[str]


class AsyncCheckpointerType(Enum):
    """Where ``async_save`` saves: on a thread, or in a process."""

    THREAD = "thread"
    PROCESS = "process"


def save_state_dict(
    state_dict: STATE_DICT_TYPE,
    storage_writer: StorageWriter,
    process_group: dist.ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """Deprecated: ``save``, which calls no ``state_dict`` methods."""
    warnings.warn(
        "`save_state_dict` is deprecated and will be removed in future versions. "
        "Please use `save` instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_writer.reset()
    return _save_state_dict(
        state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner
    )


@accepts_storage_second
def save(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: _Id | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: dist.ProcessGroup | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Saves a state, by all ranks of the group together; returns its metadata.

    ``checkpoint_id`` is a folder, or what ``storage_writer`` takes. DTensors are stored
    in parts, other values by one of the ranks that have them. For objects with
    ``state_dict`` and ``load_state_dict`` their state is stored. With ``no_dist`` this
    process saves alone; without ``use_collectives`` each rank saves what it has by
    itself, to be loaded by as many ranks. CheckpointException, on all ranks, has the
    errors of each.

    Example::

        save({"model": model, "step": 3}, checkpoint_id="checkpoint")
    """
    no_dist = warn_of_single_process("save", no_dist)
    writer = _storage_setup(storage_writer, checkpoint_id)
    return _save_state_dict(
        state_dict=_stateful_to_state_dict(state_dict),
        storage_writer=writer,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
        use_collectives=use_collectives,
    )


@dataclass
class AsyncSaveResponse:
    """Futures: of the copy of the state, and of the checkpoint."""

    staging_completion: Future[None]
    upload_completion: Future[Metadata]


def async_save(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: _Id | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: dist.ProcessGroup | None = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Metadata] | AsyncSaveResponse:
    """``save`` of a copy of the state, on another thread or in another process; a
    future of its metadata.

    All ranks call it in the same order; saves of a group follow each other.
    ``process_group`` must not be used elsewhere meanwhile: by default one is made,
    once. The copy is made by ``async_stager``, or ``storage_writer`` if that is a
    stager; if it returns a future, the result is an AsyncSaveResponse.

    Example::

        future = async_save({"model": model}, checkpoint_id="checkpoint")
        train()
        future.result()
    """
    owned = None
    if async_stager is None:
        if isinstance(storage_writer, AsyncStager):
            async_stager = storage_writer
        else:
            options = StagingOptions(False, False, False, False)
            async_stager = owned = DefaultStager(options)
    in_process = async_checkpointer_type is AsyncCheckpointerType.PROCESS
    execute = execute_in_process if in_process else execute_on_thread
    with contextlib.ExitStack() as stack:
        if owned is not None:
            stack.callback(owned.close)
        staged = async_stager.stage(_stateful_to_state_dict(state_dict))
        saved = execute(
            save,
            staged,
            process_group=process_group,
            no_dist=no_dist,
            checkpoint_id=checkpoint_id,
            storage_writer=storage_writer,
            planner=planner,
            use_collectives=use_collectives,
        )
    if isinstance(staged, Future):
        return AsyncSaveResponse(_completion_of(staged), saved)
    if async_stager.should_synchronize_after_execute:
        async_stager.synchronize_staging()
    return saved


def _completion_of(staging: Future[STATE_DICT_TYPE]) -> Future[None]:
    """A future that completes with another one, without its result."""
    completion: Future[None] = Future()

    def finish(done: Future[STATE_DICT_TYPE]) -> None:
        error = done.exception()
        if error is None:
            completion.set_result(None)
        else:
            completion.set_exception(error)

    staging.add_done_callback(finish)
    return completion


def _stateful_to_state_dict(state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
    """The state with objects replaced by their states."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) else value
        for key, value in state_dict.items()
    }


def _set_up(
    planner: Any, writer: StorageWriter, state: STATE_DICT_TYPE, ranks: _DistWrapper
) -> None:
    """``set_up_planner``; without ``storage_meta`` if the planner is older than it."""
    if "storage_meta" not in inspect.signature(planner.set_up_planner).parameters:
        warnings.warn(
            f"{type(planner).__name__}.set_up_planner has no argument storage_meta: "
            "add storage_meta=None after state_dict",
            stacklevel=2,
        )
        planner.set_up_planner(state, ranks.is_coordinator)
    else:
        planner.set_up_planner(
            state_dict=state,
            storage_meta=writer.storage_meta(),
            is_coordinator=ranks.is_coordinator,
        )


def _save_state_dict(
    state_dict: STATE_DICT_TYPE,
    storage_writer: StorageWriter,
    process_group: dist.ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
    use_collectives: bool = True,
) -> Metadata:
    ranks = _DistWrapper(process_group, not no_dist, coordinator_rank)
    plans = planner or DefaultSavePlanner()
    plan: SavePlan
    planned: Metadata | None = None

    def local_step() -> SavePlan:
        _set_up(plans, storage_writer, state_dict, ranks)
        set_up = storage_writer.set_up_storage_writer
        set_up(ranks.is_coordinator, **given_rank(set_up, ranks.rank, use_collectives))
        return storage_writer.prepare_local_plan(plans.create_local_plan())

    def global_step(local_plans: list[SavePlan]) -> list[SavePlan]:
        nonlocal planned
        local_plans, planned = plans.create_global_plan(local_plans)
        return storage_writer.prepare_global_plan(local_plans)

    def write_data() -> list[WriteResult]:
        found: list[WriteResult] = storage_writer.write_data(
            plans.finish_plan(plan), plans
        ).wait()
        return found

    def finish_checkpoint(results: list[list[WriteResult]]) -> Metadata:
        assert planned is not None
        storage_writer.finish(metadata=planned, results=results)
        return planned

    def save_alone() -> None:
        nonlocal plan
        plan = global_step([local_step()])[0]
        finish_checkpoint([write_data()])
        storage_writer._delete_outdated()

    if not use_collectives:
        ranks.all_gather("save", save_alone)
        assert planned is not None
        return planned
    plan = ranks.reduce_scatter("plan", local_step, global_step)
    metadata = ranks.all_reduce("write", write_data, finish_checkpoint)
    ranks.all_gather("delete", storage_writer._delete_outdated)
    return metadata

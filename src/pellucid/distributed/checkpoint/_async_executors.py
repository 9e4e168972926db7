"""Saves in the background: on one thread per group, or in one process per rank."""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pellucid.distributed as dist
from pellucid.distributed.checkpoint.utils import _DistWrapper

_Save = Callable[..., Any]


class _Alone:
    """Represents the group of a process without one."""


_alone = _Alone()
_threads: weakref.WeakKeyDictionary[Any, ThreadPoolExecutor]
_threads = weakref.WeakKeyDictionary()
_groups: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_processes: weakref.WeakKeyDictionary[Any, _Process] = weakref.WeakKeyDictionary()


def _staged_state(staged: Any) -> Any:
    return staged.result() if isinstance(staged, Future) else staged


def _thread_of(group: Any) -> ThreadPoolExecutor:
    key = _alone if group is None else group
    if key not in _threads:
        _threads[key] = ThreadPoolExecutor(1, "checkpoint")
    return _threads[key]


def _own_group() -> Any:
    """A group of all ranks, for saves alone."""
    world = dist.group.WORLD
    if world not in _groups:
        _groups[world] = dist.new_group()
    return _groups[world]


def execute_on_thread(
    save: _Save, staged: Any, *, process_group: Any, no_dist: bool, **options: Any
) -> Future[Any]:
    """Saves on the thread of a group."""
    if dist.is_initialized() and not no_dist and process_group is None:
        process_group = _own_group()
    options |= {"process_group": process_group, "no_dist": no_dist}
    return _thread_of(process_group).submit(
        lambda: save(_staged_state(staged), **options)
    )


def execute_in_process(
    save: _Save, staged: Any, *, process_group: Any, no_dist: bool, **options: Any
) -> Future[Any]:
    """Saves in a process of this rank's, which starts with the first save and ends with
    this one. The processes of all ranks form a group of their own.
    """
    is_shared = dist.is_initialized() and not no_dist
    group = (process_group or dist.group.WORLD) if is_shared else None
    key = _alone if group is None else group
    if key not in _processes:
        _processes[key] = _Process(save, group)
    process = _processes[key]
    options["no_dist"] = no_dist
    return _thread_of(group).submit(
        lambda: process.save(_staged_state(staged), options)
    )


class _Process:
    """A process that saves what it is sent."""

    def __init__(self, save: _Save, group: Any) -> None:
        from pellucid import multiprocessing

        ranks = _DistWrapper(group, group is not None, 0)
        self._store: Any = None  # of the processes; in the coordinator
        address = ranks.broadcast("address", self._address) if group else None
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        place = address, ranks.rank, ranks.get_world_size()
        self._process = context.Process(
            target=_serve, args=(save, *place, other), daemon=True
        )
        self._process.start()
        other.close()
        self._lock = threading.Lock()

    def _address(self) -> tuple[str, int]:
        host = os.environ.get("MASTER_ADDR") or socket.gethostname()
        self._store = dist.TCPStore(host, 0, None, True, wait_for_workers=False)
        return host, self._store.port

    def save(self, state: Any, options: dict[str, Any]) -> Any:
        """Saves; raises the error of the process."""
        with self._lock:
            try:
                self._pipe.send((state, options))
                answer = self._pipe.recv()
            except (EOFError, OSError) as error:
                self._process.join()
                raise RuntimeError(
                    "Checkpoint background process is dead. Exit code: "
                    f"{self._process.exitcode}"
                ) from error
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _serve(
    save: _Save, address: tuple[str, int] | None, rank: int, size: int, pipe: Any
) -> None:
    """The process: saves until the rank's process has ended."""
    try:
        if address is not None:
            store = dist.TCPStore(*address, None, False, wait_for_workers=False)
            dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
        while True:
            state, options = pipe.recv()
            try:
                answer = save(state, **options)
            except BaseException as error:
                answer = error
            pipe.send(answer)
    except (EOFError, OSError):
        return
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()

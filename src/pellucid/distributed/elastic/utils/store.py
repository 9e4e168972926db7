"""What the processes of a store exchange: values of all, and barriers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta

from pellucid.distributed._stores.errors import DistStoreError
from pellucid.distributed._stores.store import Store

__all__ = ["barrier", "get_all", "store_timeout", "synchronize"]


@contextlib.contextmanager
def store_timeout(store: Store, timeout: float) -> Iterator[None]:
    """Inside the context, requests wait for ``timeout`` seconds."""
    former = store.timeout
    store.set_timeout(timedelta(seconds=timeout))
    try:
        yield
    finally:
        store.set_timeout(former)


def get_all(store: Store, rank: int, prefix: str, world_size: int) -> list[bytes]:
    """The values of ``prefix`` followed by each rank. Rank 0 returns when all others
    have read them, so that it may end the store.
    """
    values = store.multi_get([f"{prefix}{each}" for each in range(world_size)])
    is_last = store.add(f"{prefix}.num_members_read", 1) == world_size
    if is_last:
        store.set(f"{prefix}.last_member_read", "1")
    if rank == 0:
        store.get(f"{prefix}.last_member_read")
    return values


def synchronize(
    store: Store,
    data: bytes,
    rank: int,
    world_size: int,
    key_prefix: str,
    timeout: float = 300,
) -> list[bytes]:
    """Each rank's ``data``, by rank, when all have called it."""
    with store_timeout(store, timeout):
        store.set(f"{key_prefix}{rank}", data)
        return get_all(store, rank, key_prefix, world_size)


def barrier(
    store: Store,
    world_size: int,
    key_prefix: str,
    barrier_timeout: float = 300,
    rank: int | None = None,
    rank_tracing_decoder: Callable[[int], str] | None = None,
    trace_timeout: float = 10,
) -> None:
    """Waits until all have called it. With ``rank``, rank 0's error names the ranks
    that are missing after ``trace_timeout`` seconds more.
    """
    done = f"{key_prefix}.last_member"
    with store_timeout(store, barrier_timeout):
        if rank is not None:
            store.set(f"{key_prefix}{rank}.trace", "here")
        if store.add(f"{key_prefix}.num_members", 1) == world_size:
            store.set(done, "1")
        try:
            store.get(done)
        except DistStoreError as error:
            if rank != 0:
                raise
            missing = _missing(store, world_size, key_prefix, trace_timeout)
            decode = rank_tracing_decoder or str
            raise DistStoreError(
                f"{error}; missing ranks: {', '.join(map(decode, missing))}"
            ) from error


def _missing(
    store: Store, world_size: int, key_prefix: str, patience: float
) -> list[int]:
    keys = [f"{key_prefix}{rank}.trace" for rank in range(world_size)]
    with contextlib.suppress(DistStoreError):
        store.wait(keys, timedelta(seconds=patience))
    return [rank for rank, key in enumerate(keys) if not store.check([key])]

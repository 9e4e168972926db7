"""Groups over shared memory: the C++ class, and how ranks open its memory.

Rank 0 makes an anonymous file, which the others open as ``/proc/<pid>/fd/<n>``. Nothing
has a name in /dev/shm, so nothing remains when processes are killed.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pellucid.distributed._distributed import Group, make_shared_file, segment_bytes
from pellucid.distributed._stores.store import Store

_NONCE = 16  # bytes, at the end of the file: identifies it


def machine_identity() -> str:
    """Equal for processes that can open each other's memory."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    namespace = os.stat("/proc/self/ns/pid").st_ino
    return f"{boot}/{namespace}/{os.getuid()}"


def _share(store: Store, key: str, nbytes: int) -> int:
    descriptor = make_shared_file(nbytes + _NONCE)
    nonce = secrets.token_bytes(_NONCE)
    os.pwrite(descriptor, nonce, nbytes)
    store.set(key, f"{os.getpid()}:{descriptor}:{nonce.hex()}")
    return descriptor


def _open(store: Store, key: str, nbytes: int) -> int:
    pid, number, nonce = store.get(key).decode().split(":")
    descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR | os.O_CLOEXEC)
    if os.pread(descriptor, _NONCE, nbytes) != bytes.fromhex(nonce):
        os.close(descriptor)
        raise OSError("another process has this pid")
    return descriptor


@contextmanager
def shared_file(store: Store, key: str, nbytes: int, rank: int) -> Iterator[int]:
    """A descriptor of memory shared by all ranks. Rank 0 must keep it open until all
    have opened it.
    """
    opened = (_share if rank == 0 else _open)(store, key, nbytes)
    try:
        yield opened
    finally:
        os.close(opened)


def open_group(
    store: Store,
    rank: int,
    size: int,
    pids: list[int],
    on_slow: Callable[[float, list[int]], None],
    timeout: float,
) -> SharedMemoryGroup | None:
    """The rank's side of a group; None on every rank if one cannot map the memory."""
    group = None
    with shared_file_or_none(store, segment_bytes(size), rank) as descriptor:
        if descriptor is not None:
            group = SharedMemoryGroup(descriptor, rank, size, pids, on_slow)
        store.set(f"shared/{rank}", "1" if group is not None else "0")
        replies = store.multi_get([f"shared/{other}" for other in range(size)])
    return group if all(reply == b"1" for reply in replies) else None


@contextmanager
def shared_file_or_none(store: Store, nbytes: int, rank: int) -> Iterator[int | None]:
    """``shared_file`` under the key "memory", or None where /proc does not allow it."""
    opened = None
    try:
        opened = (_share if rank == 0 else _open)(store, "memory", nbytes)
    except OSError:
        if rank == 0:
            store.set("memory", "0:0:00")
    try:
        yield opened
    finally:
        if opened is not None:
            os.close(opened)


class SharedMemoryGroup(Group):
    """The C++ class, with operations that take several of its calls."""

    def where(self, rank: int, timeout: float) -> str:
        """A rank's source location; empty if it does not answer."""
        return self.answer_of(rank, self.ask(rank), timeout)

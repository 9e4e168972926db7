"""Backend "mpi": groups whose ranks mpiexec or Slurm has started, over mpi4py."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from pellucid.distributed._group.native import NativeGroup
from pellucid.distributed._group.running import own_whereabouts
from pellucid.distributed._stores.hash_store import HashStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed._transport.choose import Member, Transport
from pellucid.distributed._transport.messages import MessageGroup
from pellucid.distributed._transport.mpi import MpiLinks


def _world() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise RuntimeError(
            'the backend "mpi" needs mpi4py: pip install "pellucid[mpi]", and start '
            "the program by mpiexec"
        ) from error
    return MPI.COMM_WORLD


def place_of_this_process() -> tuple[Store, int, int]:
    """A store (MPI needs none), this process's rank, and the number of processes."""
    communicator = _world()
    return HashStore(), communicator.Get_rank(), communicator.Get_size()


def _drop_names() -> None:
    """Removes the names under which MPICH shares memory: all processes have mapped it,
    and if one is killed, nothing else would.
    """
    with open("/proc/self/maps") as file:
        mapped = {line.rstrip("\n").rpartition(" ")[2] for line in file}
    for name in mapped:
        if name.startswith("/dev/shm/mpich_shm_"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


class MpiGroup(NativeGroup):
    """Ranks connected by MPI. Only a group's members call its creation."""

    backend_name = "mpi"

    def __init__(
        self, store: Store, rank: int, ranks: Sequence[int], timeout: timedelta
    ) -> None:
        whole = _world()
        chosen = whole.Get_group().Incl(list(ranks))
        self._communicator = whole.Create_group(chosen)
        super().__init__(store, rank, len(ranks), timeout)
        if len(ranks) == whole.Get_size():
            _drop_names()

    def _meet(self, store: Store) -> list[Member]:
        from pellucid.distributed._transport.choose import own_member

        return [Member(*each) for each in self._communicator.allgather(own_member())]

    def _connect(self) -> Transport:
        links = MpiLinks(self._communicator, own_whereabouts)
        return MessageGroup(links, self._rank, self._size)

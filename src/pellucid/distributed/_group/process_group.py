"""``ProcessGroup``: the base class of backends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NoReturn

import pellucid as torch
from pellucid.distributed._group.options import BarrierOptions
from pellucid.distributed._stores.store import Store, seconds_of
from pellucid.distributed._transport.choose import Member
from pellucid.distributed.constants import default_pg_timeout


class ProcessGroup:
    """Processes that call collectives together. A user's backend subclasses it,
    overrides the methods it supports, and is registered by
    ``Backend.register_backend``.

    Methods take lists of tensors and options, and return a Work.
    """

    _members: list[Member]

    def __init__(self, rank: int, size: int, *_: Any) -> None:
        self._rank, self._size = rank, size
        self.group_name, self.group_desc = "", "undefined"
        self._global_ranks: list[int] = list(range(size))
        self._store: Store | None = None
        self._timeout = seconds_of(default_pg_timeout)
        self.bound_device_id: Any = None

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """The number of processes."""
        return self._size

    def name(self) -> str:
        """The backend's name."""
        return self.getBackendName()

    def getBackendName(self) -> str:
        """The backend's name."""
        return "undefined"

    @property
    def _device_types(self) -> list[Any]:
        return [torch.device("cpu")]

    @property
    def object_device(self) -> Any:
        """Where tensors of objects, flags and sizes must be."""
        return torch.device("cpu")

    def check_alive(self, ranks: Sequence[int]) -> None:
        """Raises DistBackendError if one of the ranks is known to have ended."""

    def set_timeout(self, timeout: timedelta) -> None:
        """The timeout of later calls."""
        self._timeout = seconds_of(timeout)

    def get_group_store(self) -> Store | None:
        """The store by which the group was made."""
        return self._store

    def whereabouts(self) -> dict[int, str]:
        """What each rank is doing, for ``waiting``."""
        self._lacks("whereabouts")

    def _lacks(self, name: str) -> NoReturn:
        raise RuntimeError(f"backend {self.getBackendName()!r} does not support {name}")

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        """Combines each tensor over the ranks, in place."""
        self._lacks("allreduce")

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """``allreduce`` of several tensors as one."""
        self._lacks("allreduce_coalesced")

    def reduce(self, tensors: Any, opts: Any = None) -> Any:
        """Combines into the root's tensor."""
        self._lacks("reduce")

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        """Copies the root's tensor to all."""
        self._lacks("broadcast")

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Copies every rank's tensor to all, into a list."""
        self._lacks("allgather")

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Any:
        self._lacks("_allgather_base")

    def gather(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Copies every rank's tensor to the root."""
        self._lacks("gather")

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Copies one tensor of the root's list to each rank."""
        self._lacks("scatter")

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Combines lists, of which each rank gets one tensor."""
        self._lacks("reduce_scatter")

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = None) -> Any:
        self._lacks("_reduce_scatter_base")

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Copies tensor r of every rank's list to rank r."""
        self._lacks("alltoall")

    def alltoall_base(
        self,
        output: Any,
        input: Any,
        output_split_sizes: Any,
        input_split_sizes: Any,
        opts: Any = None,
    ) -> Any:
        """``alltoall`` of slices of one tensor."""
        self._lacks("alltoall_base")

    def barrier(self, opts: Any = None) -> Any:
        """Waits for all ranks."""
        self._lacks("barrier")

    def monitored_barrier(
        self, timeout: timedelta | None = None, wait_all_ranks: bool = False
    ) -> None:
        """A barrier whose error names the ranks that are missing, as every error
        does. It fails on a late rank, too, when others have given it up before. A rank
        that gives up at the end may not be noticed: others may have passed already.
        """
        limit = self._timeout if timeout is None else seconds_of(timeout)
        end = time.monotonic() + limit
        for _ in range(2):  # the second one learns of ranks that failed in the first
            opts = BarrierOptions()
            opts.timeout = timedelta(seconds=max(end - time.monotonic(), 0))
            work = self.barrier(opts)
            if work is not None:
                work.wait()

    # Several at once: calls run in order, so the last one's end is that of all.

    def allgather_into_tensor_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None
    ) -> Any:
        """``_allgather_base`` of several tensors."""
        pairs = zip(outputs, inputs, strict=True)
        return [self._allgather_base(*pair, opts) for pair in pairs][-1]

    def reduce_scatter_tensor_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None
    ) -> Any:
        """``_reduce_scatter_base`` of several tensors."""
        pairs = zip(outputs, inputs, strict=True)
        return [self._reduce_scatter_base(*pair, opts) for pair in pairs][-1]

    def allgather_coalesced(
        self, output_lists: Any, input_list: Any, opts: Any = None
    ) -> Any:
        """``allgather`` of several tensors: ``output_lists[r]`` has those of rank
        r.
        """
        columns = zip(*output_lists, strict=True)
        pairs = zip(columns, input_list, strict=True)
        return [self.allgather([list(out)], [own], opts) for out, own in pairs][-1]

    def send(self, tensors: Any, dst_rank: int, tag: int) -> Any:
        """Sends a tensor."""
        self._lacks("send")

    def recv(self, tensors: Any, src_rank: int, tag: int) -> Any:
        """Receives into a tensor."""
        self._lacks("recv")

    def recv_anysource(self, tensors: Any, tag: int) -> Any:
        """Receives from any rank."""
        self._lacks("recv_anysource")

    def shutdown(self) -> None:
        """Shuts the group down on this rank."""

    def abort(self) -> None:
        """Shuts the group down immediately."""
        self.shutdown()

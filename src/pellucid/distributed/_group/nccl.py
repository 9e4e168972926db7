"""Backend "nccl": collectives of tensors on GPUs, queued on a stream of the group.

A call waits on the device for what the current stream has queued; ``Work.wait`` makes
the current stream wait for it in turn, and the program goes on. Device memory and
streams are those of the tensors' device backend (``devices.Backend``). It has not run
on a GPU: tests run it on devices in Python, ``tools/check_nccl.py`` on GPUs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from inspect import isfunction, signature
from typing import Any

import pellucid as torch
from pellucid.devices import backend_of
from pellucid.distributed._group import options
from pellucid.distributed._group.argument_checks import (
    check_memory,
    check_outputs,
    check_sizes,
    element_counts,
    resolved,
)
from pellucid.distributed._group.process_group import ProcessGroup
from pellucid.distributed._group.reduce_op import RedOpType, ReduceOp
from pellucid.distributed._group.work import Work
from pellucid.distributed._stores.errors import DistBackendError
from pellucid.distributed._stores.store import Store, seconds_of
from pellucid.distributed._transport.nccl import DTYPES, REDUCTIONS, Nccl, nccl

_LOOK = 0.001  # seconds between looks at work of the device


class NcclWork(Work):
    """Work that a device does."""

    def __init__(self, group: NcclGroup, tensors: Any, end: Any) -> None:
        super().__init__(tensors)
        self._group, self._end = group, end

    def is_completed(self) -> bool:
        """Whether the device has done it."""
        return self._end is None or bool(self._end.query())

    def wait(self, timeout: Any = None) -> bool:
        """Makes the current stream wait; with ``timeout`` the program waits too."""
        if timeout is not None:
            self._group._finish(self, seconds_of(timeout))
        elif self._end is not None:
            self._group._module.current_stream(self._group.device).wait_event(self._end)
        return True

    def synchronize(self) -> None:
        """Waits until the device has done it."""
        self._group._finish(self, self._group._timeout)


class NcclGroup(ProcessGroup):
    """Ranks with a GPU each."""

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        timeout: timedelta,
        device: Any = None,
        library: Nccl | None = None,
    ) -> None:
        super().__init__(rank, size)
        self._store, self._timeout = store, seconds_of(timeout)
        if device is None:
            if torch.cuda.device_count() == 0:
                raise RuntimeError(
                    "ProcessGroupNCCL is only supported with GPUs, no GPUs found! Use "
                    'init_process_group("gloo") for tensors in memory of the CPU'
                )
            device = torch.device("cuda", torch.cuda.current_device())
        self._nccl = nccl() if library is None else library
        self.device = self.bound_device_id = torch.device(device)
        self._backend = backend_of(self.device)
        self._module = torch.get_device_module(self.device)
        self._streams = self._backend.streams
        self._stream = self._module.Stream(self.device) if self._streams else None
        if rank == 0:
            store.set("nccl_id", self._nccl.unique_id())
        shared = store.get("nccl_id")
        self._communicator: Any = self._nccl.communicator(size, shared, rank)

    def getBackendName(self) -> str:
        """ "nccl"."""
        return "nccl"

    @property
    def _device_types(self) -> list[Any]:
        return [torch.device(self.device.type)]

    @property
    def object_device(self) -> Any:
        """This rank's device: there is no other memory that NCCL takes."""
        return self.device

    # Running

    @contextmanager
    def _queued(self, tensors: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """The communicator and the stream of a call that uses these tensors."""
        if self._communicator is None:
            raise DistBackendError("the group was aborted or destroyed")
        for tensor in tensors:
            if tensor.device != self.device:
                raise RuntimeError(
                    f'backend "nccl" got a tensor on {tensor.device}; the tensors of '
                    f"this rank are on {self.device}"
                )
            check_memory(tensor)
        if self._stream is None:
            yield self._communicator, None
            return
        self._stream.wait_stream(self._module.current_stream(self.device))
        number = self._stream.stream_id
        yield self._communicator, self._backend.handle(self.device.index or 0, number)
        for tensor in tensors:
            tensor.record_stream(self._stream)

    def _work(self, opts: Any, tensors: Any) -> NcclWork:
        end = None
        if self._stream is None:
            self._module.synchronize(self.device)
        else:
            end = self._module.Event()
            end.record(self._stream)
        work = NcclWork(self, tensors, end)
        if not opts.asyncOp:
            work.wait()
        return work

    def _finish(self, work: NcclWork, seconds: float) -> None:
        """Waits for work; an error of another rank, or the timeout, ends the group."""
        end = time.monotonic() + seconds
        while not work.is_completed():
            failure = self._nccl.failure(self._communicator)
            if failure or time.monotonic() > end:
                self.abort()
                self._nccl.check("CommGetAsyncError", failure)
                raise DistBackendError(
                    f"a collective of group {self.group_name!r} is not done after "
                    f"{seconds:g} s: a rank has not called it, or has ended"
                )
            time.sleep(_LOOK)

    @contextmanager
    def _grouped(self) -> Iterator[None]:
        """Calls inside are one operation for NCCL."""
        self._nccl.call("GroupStart")
        try:
            yield
        finally:
            self._nccl.call("GroupEnd")

    def _dtype(self, tensor: Any) -> int:
        code = DTYPES.get(tensor.dtype)
        if code is None:
            raise RuntimeError(f"NCCL does not support tensors of {tensor.dtype}")
        return code

    @contextmanager
    def _reduction(self, op: ReduceOp, tensor: Any) -> Iterator[int]:
        """NCCL's reduction; of bools, sum and max are "or", product and min "and"."""
        if op.op is RedOpType.PREMUL_SUM:
            call = op.factor, tensor.dtype, self._communicator
            made = self._nccl.premultiplied_sum(*call)
            try:
                yield made
            finally:
                self._nccl.call("RedOpDestroy", made, self._communicator)
            return
        if op.code not in REDUCTIONS:
            raise ValueError(f"Cannot use ReduceOp.{op.name} with NCCL")
        is_sum = op.op in (RedOpType.SUM, RedOpType.AVG)
        is_or = tensor.dtype is torch.bool and is_sum
        yield REDUCTIONS[int(RedOpType.MAX) if is_or else op.code]

    # Collectives

    def allreduce(self, tensors: Any, opts: Any = None) -> Work:
        """Combines each tensor over the ranks, in place."""
        opts = opts or options.AllreduceOptions()
        with self._queued(tensors) as end, self._grouped():
            for x in tensors:
                with self._reduction(opts.reduceOp, x) as op:
                    call = x.data_ptr(), x.data_ptr(), x.numel(), self._dtype(x), op
                    self._nccl.call("AllReduce", *call, *end)
        return self._work(opts, tensors)

    allreduce_coalesced = allreduce

    def reduce(self, tensors: Any, opts: Any = None) -> Work:
        """Combines into the root's tensor."""
        opts = opts or options.ReduceOptions()
        (x,) = tensors
        with self._queued(tensors) as end, self._reduction(opts.reduceOp, x) as op:
            call = x.data_ptr(), x.data_ptr(), x.numel(), self._dtype(x), op
            self._nccl.call("Reduce", *call, opts.rootRank, *end)
        return self._work(opts, tensors)

    def broadcast(self, tensors: Any, opts: Any = None) -> Work:
        """Copies the root's tensor to all."""
        opts = opts or options.BroadcastOptions()
        (x,) = tensors
        with self._queued(tensors) as end:
            call = x.data_ptr(), x.data_ptr(), x.numel(), self._dtype(x)
            self._nccl.call("Broadcast", *call, opts.rootRank, *end)
        return self._work(opts, tensors)

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        opts = opts or options.AllgatherOptions()
        check_sizes("all_gather_into_tensor", output, input, self._size)
        input = resolved(input)
        with self._queued([output, input]) as end:
            call = input.data_ptr(), output.data_ptr(), input.numel()
            self._nccl.call("AllGather", *call, self._dtype(input), *end)
        return self._work(opts, [output, input])

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies every rank's tensor to all, into a list."""
        opts = opts or options.AllgatherOptions()
        (listed,), (input,) = outputs, inputs
        check_outputs(listed, input, self._size)
        whole = input.new_empty((self._size, *input.shape))
        self._allgather_base(whole, input.detach().contiguous()).wait()
        return self._copied(listed, whole, opts)

    def _copied(self, outputs: Sequence[Any], rows: Any, opts: Any) -> Work:
        """Copies on the current stream, after which the work is done."""
        for output, row in zip(outputs, rows, strict=True):
            output.detach().copy_(row.view(output.shape))
        if self._stream is not None:
            self._stream.wait_stream(self._module.current_stream(self.device))
        return self._work(opts, outputs)

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        opts = opts or options.ReduceScatterOptions()
        check_sizes("reduce_scatter_tensor", input, output, self._size)
        input = resolved(input)
        tensors = [output, input]
        with self._queued(tensors) as end, self._reduction(opts.reduceOp, input) as op:
            call = input.data_ptr(), output.data_ptr(), output.numel()
            self._nccl.call("ReduceScatter", *call, self._dtype(input), op, *end)
        return self._work(opts, tensors)

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Combines lists, of which each rank gets one tensor."""
        (output,), (listed,) = outputs, inputs
        check_outputs(listed, output, self._size)
        whole = torch.stack([tensor.detach() for tensor in listed])
        return self._reduce_scatter_base(output, whole, opts)

    # Messages: all that a rank sends and receives in one call is one operation.

    def _exchange(
        self,
        sends: Sequence[tuple[Any, int]],
        receives: Sequence[tuple[Any, int]],
        opts: Any,
    ) -> Work:
        sends = [(resolved(tensor), peer) for tensor, peer in sends]
        tensors = [tensor for tensor, _ in (*sends, *receives)]
        with self._queued(tensors) as end, self._grouped():
            for name, pairs in (("Send", sends), ("Recv", receives)):
                for x, peer in pairs:
                    call = x.data_ptr(), x.numel(), self._dtype(x), peer
                    self._nccl.call(name, *call, *end)
        return self._work(opts, tensors)

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies tensor r of every rank's list to rank r."""
        opts = opts or options.AllToAllOptions()
        sends = [(x, peer) for peer, x in enumerate(inputs)]
        return self._exchange(sends, [(x, p) for p, x in enumerate(outputs)], opts)

    def alltoall_base(
        self,
        output: Any,
        input: Any,
        output_split_sizes: Any,
        input_split_sizes: Any,
        opts: Any = None,
    ) -> Work:
        """``alltoall`` of slices of one tensor."""
        taken = element_counts("output", output, output_split_sizes, self._size)
        given = element_counts("input", input, input_split_sizes, self._size)
        parts = output.view(-1).split(taken), input.view(-1).split(given)
        return self.alltoall(*parts, opts)

    def gather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies every rank's tensor to the root."""
        opts = opts or options.GatherOptions()
        (input,), receives = inputs, []
        if opts.rootRank == self._rank:
            check_outputs(outputs[0], input, self._size)
            receives = [(x, peer) for peer, x in enumerate(outputs[0])]
        return self._exchange([(input, opts.rootRank)], receives, opts)

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies one tensor of the root's list to each rank."""
        opts = opts or options.ScatterOptions()
        (output,), sends = outputs, []
        if opts.rootRank == self._rank:
            check_outputs(inputs[0], output, self._size)
            sends = [(x, peer) for peer, x in enumerate(inputs[0])]
        return self._exchange(sends, [(output, opts.rootRank)], opts)

    def send(self, tensors: Any, dst_rank: int, tag: int) -> Work:
        """Sends a tensor. NCCL has no tags: messages arrive in order."""
        pairs = [(tensor, dst_rank) for tensor in tensors]
        return self._exchange(pairs, [], _ASYNCHRONOUS)

    def recv(self, tensors: Any, src_rank: int, tag: int) -> Work:
        """Receives into a tensor."""
        pairs = [(tensor, src_rank) for tensor in tensors]
        return self._exchange([], pairs, _ASYNCHRONOUS)

    def barrier(self, opts: Any = None) -> Work:
        """Waits for all ranks, and for what this one has queued."""
        one = torch.ones(1, device=self.device)
        work = self.allreduce([one])
        work.synchronize()
        return work

    # End

    def _end(self, how: str) -> None:
        communicator, self._communicator = self._communicator, None
        if communicator is not None:
            self._nccl.call(how, communicator)

    def shutdown(self) -> None:
        """Shuts the group down after what is queued."""
        self._end("CommDestroy")

    def abort(self) -> None:
        """Shuts the group down immediately; its work ends with errors."""
        self._end("CommAbort")


_ASYNCHRONOUS = options.AllToAllOptions()
_ASYNCHRONOUS.asyncOp = True

# ProcessGroup's methods that take tensors, and so have a device.
_METHODS = [
    name
    for name, method in vars(ProcessGroup).items()
    if isfunction(method)
    and not {"tensors", "output", "outputs"}.isdisjoint(signature(method).parameters)
]


def _first_tensor(values: Any) -> Any:
    for value in values:
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, (list, tuple)):
            found = _first_tensor(value)
            if found is not None:
                return found
    return None


class PerDevice(ProcessGroup):
    """A group with a backend per type of device: a call runs on that of its tensors."""

    def __init__(self, groups: dict[str, ProcessGroup]) -> None:
        first = next(iter(groups.values()))
        super().__init__(first.rank(), first.size())
        self._groups, self._first = groups, first
        self._store, self._timeout = first._store, getattr(first, "_timeout", 0.0)

    def getBackendName(self) -> str:
        """The backend of CPU tensors."""
        return self._first.getBackendName()

    @property
    def _device_types(self) -> list[Any]:
        return [torch.device(name) for name in self._groups]

    @property
    def object_device(self) -> Any:
        """That of the first backend, which is the CPU's if there is one."""
        return self._first.object_device

    def set_timeout(self, timeout: timedelta) -> None:
        """The timeout of later calls, of all backends."""
        for group in self._groups.values():
            group.set_timeout(timeout)

    def _get_backend(self, device: Any) -> ProcessGroup:
        """The backend of a device."""
        kind = torch.device(device).type
        if kind not in self._groups:
            raise RuntimeError(f"No backend type associated with device type {kind}")
        return self._groups[kind]

    def barrier(self, opts: Any = None) -> Work:
        """Waits for all ranks."""
        return self._first.barrier(opts)  # type: ignore[no-any-return]

    def shutdown(self) -> None:
        """Shuts all backends down."""
        for group in self._groups.values():
            group.shutdown()

    def abort(self) -> None:
        """Shuts all backends down immediately."""
        for group in self._groups.values():
            group.abort()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_first":
            raise AttributeError(name)
        return getattr(self._first, name)


def _forwarding(name: str) -> Callable[..., Any]:
    def call(self: PerDevice, *arguments: Any) -> Any:
        tensor = _first_tensor(arguments)
        group = self._first if tensor is None else self._get_backend(tensor.device)
        return getattr(group, name)(*arguments)

    return call


for _name in _METHODS:
    setattr(PerDevice, _name, _forwarding(_name))

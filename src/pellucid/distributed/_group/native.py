"""Pellucid's own process group: collectives and messages as calls of a transport.

Read next: ``running.py``.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pellucid as torch
from pellucid.distributed._distributed import is_defined
from pellucid.distributed._group import flight, options
from pellucid.distributed._group.argument_checks import (
    check_memory,
    check_outputs,
    check_sizes,
    element_counts,
    is_pending,
    resolved,
)
from pellucid.distributed._group.flight import Operands
from pellucid.distributed._group.points import MessageWork
from pellucid.distributed._group.running import RunningGroup
from pellucid.distributed._group.work import Work
from pellucid.distributed._stores.store import Store, seconds_of
from pellucid.distributed._stores.watched_store import WatchedStore
from pellucid.distributed._transport import codes
from pellucid.distributed._transport.shared_memory import SharedMemoryGroup, shared_file

_codes = codes.DTYPE_CODES


class NativeGroup(RunningGroup):
    """Ranks in shared memory, or connected by sockets (backend "gloo")."""

    backend_name = "gloo"

    def __init__(
        self, store: Store, rank: int, size: int, timeout: timedelta, *_: Any
    ) -> None:
        super().__init__(store, rank, size, timeout)
        self._num_blocks = 0
        self._mail: set[MessageWork] = set()
        self._posting = threading.Lock()

    # Collectives

    def _code(self, tensor: Any, reduction: int = 0) -> int:
        if tensor.is_meta:
            raise ValueError("tensors on the meta device have no values to send")
        check_memory(tensor)
        code = _codes.get(tensor.dtype)
        if code is None or not is_defined(code, reduction):
            from pellucid.distributed._group.reduce_op import RedOpType

            name = RedOpType(reduction).name
            raise RuntimeError(f"{name} is not defined for tensors of {tensor.dtype}")
        return code

    def allreduce(self, tensors: Any, opts: Any = None) -> Work:
        """Combines each tensor over the ranks, in place."""
        opts = opts or options.AllreduceOptions()
        op = opts.reduceOp
        work = None
        for tensor in tensors:
            code = _codes.get(tensor.dtype, -1)
            is_plain = tensor.is_contiguous() and not tensor.is_meta
            if op.code or code < 0 or not is_plain or is_pending(tensor):
                code = self._code(tensor, op.code)
            address = tensor.data_ptr()
            call = (codes.ALL_REDUCE, tensor.numel(), code, op.code, -1)
            work = self._run(call, address, address, opts, tensors, op.factor)
        return work or Work(tensors)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Work:
        """``allreduce`` of several tensors as one."""
        opts = opts or options.AllreduceOptions()
        flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])

        def unpack() -> None:
            parts = flat.split([tensor.numel() for tensor in tensors])
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.detach().copy_(part.view(tensor.shape))

        call = (
            *(codes.ALL_REDUCE, flat.numel()),
            *(self._code(flat, opts.reduceOp.code), opts.reduceOp.code, -1),
        )
        address = flat.data_ptr()
        factor = opts.reduceOp.factor
        return self._run(call, address, address, opts, tensors, factor, unpack)

    def reduce(self, tensors: Any, opts: Any = None) -> Work:
        """Combines into the root's tensor."""
        opts = opts or options.ReduceOptions()
        (tensor,), op = tensors, opts.reduceOp
        code, address = self._code(tensor, op.code), tensor.data_ptr()
        call = (codes.REDUCE, tensor.numel(), code, op.code, opts.rootRank)
        return self._run(call, address, address, opts, tensors, op.factor)

    def broadcast(self, tensors: Any, opts: Any = None) -> Work:
        """Copies the root's tensor to all."""
        opts = opts or options.BroadcastOptions()
        (tensor,) = tensors
        address = tensor.data_ptr()
        call = (codes.BROADCAST, tensor.numel(), self._code(tensor), 0, opts.rootRank)
        return self._run(call, address, address, opts, tensors)

    def _gathered(
        self, kind: int, outputs: Any, input: Any, root: int, opts: Any
    ) -> Work:
        input = resolved(input.detach())
        code, count = self._code(input), input.numel()
        whole, after = None, None
        if outputs is not None:
            check_outputs(outputs, input, self._size)
            whole = input.new_empty((self._size, *input.shape))
            joined = whole

            def after() -> None:
                for output, row in zip(outputs, joined, strict=True):
                    output.detach().copy_(row.view(output.shape))

        target = 0 if whole is None else whole.data_ptr()
        call = (kind, count, code, 0, root)
        alive = outputs, input, whole
        operands = Operands([input], [] if whole is None else [whole])
        addresses = input.data_ptr(), target
        work = self._run(call, *addresses, opts, alive, after=after, operands=operands)
        work._tensors = outputs
        return work

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies every rank's tensor to all, into a list."""
        opts = opts or options.AllgatherOptions()
        (listed,), (input,) = outputs, inputs
        return self._gathered(codes.ALL_GATHER, listed, input, -1, opts)

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        opts = opts or options.AllgatherOptions()
        check_sizes("all_gather_into_tensor", output, input, self._size)
        input = resolved(input)
        call = (codes.ALL_GATHER, input.numel(), self._code(input), 0, -1)
        self._code(output)
        alive, operands = [output, input], Operands([input], [output])
        addresses = input.data_ptr(), output.data_ptr()
        return self._run(call, *addresses, opts, alive, operands=operands)

    def gather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies every rank's tensor to the root."""
        opts = opts or options.GatherOptions()
        (input,) = inputs
        listed = outputs[0] if opts.rootRank == self._rank else None
        root = opts.rootRank
        return self._gathered(codes.GATHER, listed, input, root, opts)

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies one tensor of the root's list to each rank."""
        opts = opts or options.ScatterOptions()
        (output,) = outputs
        whole = None
        if opts.rootRank == self._rank:
            (listed,) = inputs
            check_outputs(listed, output, self._size)
            whole = torch.stack([tensor.detach() for tensor in listed])
        source = 0 if whole is None else whole.data_ptr()
        call = (codes.SCATTER, output.numel(), self._code(output), 0, opts.rootRank)
        alive = [output, whole]
        operands = Operands([] if whole is None else [whole], [output])
        addresses = source, output.data_ptr()
        return self._run(call, *addresses, opts, alive, operands=operands)

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Combines lists, of which each rank gets one tensor."""
        (output,), (listed,) = outputs, inputs
        if len(listed) != self._size:
            check_outputs(listed, output, self._size)
        if any(tensor.shape != output.shape for tensor in listed):
            return self._reduce_scatter_uneven(output, listed, opts)
        whole = torch.stack([tensor.detach() for tensor in listed])
        return self._reduce_scatter_base(output, whole, opts)

    def _reduce_scatter_uneven(self, output: Any, listed: Any, opts: Any) -> Work:
        flat = torch.cat([tensor.detach().reshape(-1) for tensor in listed])
        reduced = options.AllreduceOptions()
        reduced.reduceOp = opts.reduceOp
        self.allreduce([flat], reduced)
        start = sum(tensor.numel() for tensor in listed[: self._rank])
        part = flat[start : start + output.numel()]
        output.detach().copy_(part.view(output.shape))
        return Work([output])

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        opts = opts or options.ReduceScatterOptions()
        check_sizes("reduce_scatter_tensor", input, output, self._size)
        input = resolved(input)
        op = opts.reduceOp
        call = (codes.REDUCE_SCATTER, output.numel(), self._code(input, op.code))
        self._code(output)
        addresses = input.data_ptr(), output.data_ptr()
        alive, operands = [output, input], Operands([input], [output])
        return self._run(
            *((*call, op.code, -1), *addresses, opts, alive, op.factor),
            operands=operands,
        )

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies tensor r of every rank's list to rank r."""
        opts = opts or options.AllToAllOptions()
        source = torch.cat([tensor.detach().reshape(-1) for tensor in inputs])
        taken = [tensor.numel() for tensor in outputs]
        target = source.new_empty(sum(taken))

        def unpack() -> None:
            for output, part in zip(outputs, target.split(taken), strict=True):
                output.detach().copy_(part.view(output.shape))

        given = [tensor.numel() for tensor in inputs]
        operands = Operands(inputs, outputs)
        return self._all_to_all(target, source, taken, given, opts, operands, unpack)

    def alltoall_base(
        self,
        output: Any,
        input: Any,
        output_split_sizes: Any,
        input_split_sizes: Any,
        opts: Any = None,
    ) -> Work:
        """``alltoall`` of slices of one tensor."""
        opts = opts or options.AllToAllOptions()
        taken = element_counts("output", output, output_split_sizes, self._size)
        given = element_counts("input", input, input_split_sizes, self._size)
        operands = Operands([input], [output])
        return self._all_to_all(output, input, taken, given, opts, operands)

    def _all_to_all(
        self,
        output: Any,
        input: Any,
        taken: list[int],
        given: list[int],
        opts: Any,
        operands: Operands,
        after: Callable[[], None] | None = None,
    ) -> Work:
        if self._broken:
            self._refuse()
        input = resolved(input)
        code, item = self._code(input), input.element_size()
        self._code(output)
        timeout = self._timeout if opts.timeout is None else seconds_of(opts.timeout)
        call = (codes.ALL_TO_ALL, input.numel(), code, 0, -1)
        given, taken = [n * item for n in given], [n * item for n in taken]
        recorded, recorder = None, flight.recorder
        if recorder is not None:
            recorded = recorder.collective(self, call, operands)
        return self._submit(
            lambda: self._transport.all_to_all(
                input.data_ptr(), given, output.data_ptr(), taken, timeout
            ),
            *(call, opts, timeout, [output, input], after, recorded),
        )

    def barrier(self, opts: Any = None) -> Work:
        """Waits for all ranks."""
        opts = opts or options.BarrierOptions()
        return self._run((codes.BARRIER, 0, 0, 0, -1), 0, 0, opts, [])

    # Messages

    def _post(self, tensors: Any, peer: int, tag: int, is_send: bool) -> MessageWork:
        if self._broken:
            self._refuse()
        (tensor,) = tensors = [resolved(x) for x in tensors] if is_send else tensors
        self._code(tensor)
        post = self._transport.send if is_send else self._transport.receive
        nbytes = tensor.numel() * tensor.element_size()
        message = post(tensor.data_ptr(), nbytes, peer, tag)
        work = MessageWork(self, message, tensors, peer, is_send)
        if flight.recorder is not None:
            work.recorded = flight.recorder.message(self, tensor, peer, is_send)
        with self._posting:
            self._mail = {other for other in self._mail if not other.is_completed()}
            if not message.is_done:
                self._mail.add(work)
        return work

    def send(self, tensors: Any, dst_rank: int, tag: int) -> MessageWork:
        """Sends a tensor."""
        return self._post(tensors, dst_rank, tag, True)

    def recv(self, tensors: Any, src_rank: int, tag: int) -> MessageWork:
        """Receives into a tensor."""
        return self._post(tensors, src_rank, tag, False)

    def recv_anysource(self, tensors: Any, tag: int) -> MessageWork:
        """Receives from any rank."""
        return self._post(tensors, -1, tag, False)

    def move_in_background(self) -> None:
        """Makes progress on messages that no one waits for yet."""
        self._transport.move_in_background()

    # Memory

    def allocate_shared(self, nbytes: int) -> Any:
        """Allocates a tensor of bytes; all_reduce of tensors in it is zero-copy if
        ranks share memory. All ranks call it, in the same order.
        """
        transport = self._transport
        if not isinstance(transport, SharedMemoryGroup):
            return torch.zeros(nbytes, dtype=torch.uint8)
        assert self._store is not None
        self._num_blocks += 1
        key, rounded = f"block{self._num_blocks}", -(-nbytes // 4096) * 4096
        whole, ranks = rounded * self._size, range(self._size)
        store = WatchedStore("blocks", self._store, lambda: self.check_alive(ranks))
        with shared_file(store, key, whole, self._rank) as descriptor:
            address = transport.add_block(descriptor, rounded)
            self.barrier()
        memory: Any = (ctypes.c_char * rounded).from_address(address)
        memory.owner = transport  # it is mapped as long as the transport exists
        return torch.frombuffer(memory, dtype=torch.uint8)[:nbytes]

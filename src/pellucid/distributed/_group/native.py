"""Pellucid's own process group, over a transport."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn

import pellucid as torch
from pellucid.distributed._distributed import Failure, is_defined
from pellucid.distributed._group import failure, options
from pellucid.distributed._group.points import MessageWork
from pellucid.distributed._group.process_group import ProcessGroup
from pellucid.distributed._group.queue import CallQueue
from pellucid.distributed._group.whereabouts import call_site, main_thread_place
from pellucid.distributed._group.work import Work
from pellucid.distributed._stores.store import Store, seconds_of
from pellucid.distributed._stores.watched_store import WatchedStore
from pellucid.distributed._transport import codes
from pellucid.distributed._transport.choose import Member, Transport, connect, meet
from pellucid.distributed._transport.messages import MessageGroup
from pellucid.distributed._transport.shared_memory import SharedMemoryGroup, shared_file
from pellucid.distributed.errors import DistBackendError, DistStoreError

_codes = codes.DTYPE_CODES
_Call = tuple[int, int, int, int, int]  # kind, count, dtype, reduction, root


_groups: weakref.WeakSet[NativeGroup] = weakref.WeakSet()  # of this process


class NativeGroup(ProcessGroup):
    """Ranks in shared memory, or connected by sockets (backend "gloo")."""

    backend_name = "gloo"

    def __init__(
        self, store: Store, rank: int, size: int, timeout: timedelta, *_: Any
    ) -> None:
        super().__init__(rank, size)
        self._store, self._timeout = store, seconds_of(timeout)
        self._members = self._meet(store)
        self._transport = self._connect()
        self._queue = CallQueue("collectives")
        self._num_calls = self._num_blocks = 0
        self._last: _Call | None = None
        self._since, self._site = 0.0, ""  # of the current call; 0: there is none
        self._broken = ""
        self._pid = os.getpid()
        self._stopped = threading.Event()
        self._mail: set[MessageWork] = set()
        self._posting = threading.Lock()
        meeting = codes.BARRIER, 0, 0, 0, -1
        try:
            self._transport.run(codes.BARRIER, 0, 0, 0, 0, 0, -1, 1.0, self._timeout)
        except Failure as caught:
            self._raise(caught, meeting, call_site(), self._timeout)
        if isinstance(self._transport, SharedMemoryGroup):
            self._witness = threading.Thread(
                target=self._answer, args=(self._transport,), daemon=True, name="where"
            )
            self._witness.start()
        _groups.add(self)

    def _meet(self, store: Store) -> list[Member]:
        return meet(store, self._rank, self._size)

    def _connect(self) -> Transport:
        assert self._store is not None
        return connect(
            *(self._store, self._rank, self._members, self._timeout),
            *(self._tell_slow, _whereabouts, self._hear_elsewhere),
        )

    def getBackendName(self) -> str:
        """The backend's name."""
        return self.backend_name

    # Running a call

    def _run(
        self,
        call: _Call,
        input: int,
        output: int,
        opts: Any,
        tensors: Any,
        factor: float = 1.0,
        after: Callable[[], None] | None = None,
    ) -> Work:
        if self._broken or self._pid != os.getpid():
            self._refuse()
        timeout = self._timeout if opts.timeout is None else seconds_of(opts.timeout)
        kind, count, dtype, reduction, root = call
        if not opts.asyncOp and self._queue.try_begin():
            try:
                self._num_calls += 1
                self._last, self._since = call, time.monotonic()
                self._transport.run(
                    *(kind, input, output, count, dtype, reduction, root),
                    *(factor, timeout),
                )
            except Failure as caught:
                self._raise(caught, call, call_site(), timeout)
            finally:
                self._since = 0.0
                self._queue.end()
            if after is not None:
                after()
            return Work(tensors)
        return self._submit(
            lambda: self._transport.run(
                kind, input, output, count, dtype, reduction, root, factor, timeout
            ),
            *(call, opts, timeout, tensors, after),
        )

    def _submit(
        self,
        start: Callable[[], None],
        call: _Call,
        opts: Any,
        timeout: float,
        tensors: Any,
        after: Callable[[], None] | None = None,
    ) -> Work:
        work, site = Work.pending(tensors), call_site()

        def run() -> None:
            if self._broken:
                self._refuse()
            self._num_calls += 1
            self._last, self._site, self._since = call, site, time.monotonic()
            try:
                start()
            except Failure as caught:
                self._raise(caught, call, site, timeout)
            finally:
                self._site, self._since = "", 0.0
            if after is not None:
                after()

        self._queue.submit(run, work)
        if not opts.asyncOp:
            work.wait()
        return work

    # Failures

    def _refuse(self) -> NoReturn:
        if self._pid != os.getpid():
            raise DistBackendError(
                "this process was forked from one with process groups, which are the "
                "parent's; call init_process_group here, or start processes by spawn"
            )
        raise DistBackendError(self._broken)

    def _describe(self, call: _Call, site: str = "") -> str:
        kind, count, dtype, reduction, root = call
        text = codes.KINDS[kind]
        if kind not in (codes.BARRIER, codes.ALL_TO_ALL):
            name = str(codes.DTYPES[dtype]).removeprefix("torch.")
            text += f" {name.removeprefix('pellucid.')}[{count}]"
        if kind in (codes.ALL_REDUCE, codes.REDUCE, codes.REDUCE_SCATTER):
            from pellucid.distributed._group.reduce_op import RedOpType

            text += f" {RedOpType(reduction).name.lower()}"
        text += f" of rank {root}" if root >= 0 else ""
        return f"{text} ({site})" if site else text

    def _raise(self, caught: Failure, call: _Call, site: str, timeout: float) -> None:
        cause, ranks, members = self._meaning(caught)
        name, number = self.group_name or "default", self._num_calls
        text = self._describe(call, site)
        if cause == "mismatch":
            calls = self._transport.exchange_texts(text, timeout)
            message = failure.mismatch_text(name, number, calls)
            raise DistBackendError(message) from None
        if cause == "timed out":
            places = [self._transport.where(rank, 1.0) for rank in ranks]
            message = failure.timeout_text(name, number, text, timeout, ranks, places)
        else:
            reasons = [self._reason(cause, members[rank]) for rank in ranks]
            message = failure.gone_text(name, number, text, ranks, members, reasons)
        self._break(message)
        raise DistBackendError(message) from None

    def _meaning(self, caught: Failure) -> tuple[str, list[int], list[Member]]:
        """The cause, the ranks, and the members of the group."""
        cause, ranks, *elsewhere = caught.args
        return cause, ranks, elsewhere[0] if elsewhere else self._members

    def _hear_elsewhere(self, peer: int) -> None:
        """Called while a rank is missing: Failure if it left another group because a
        rank of that group ended. Its program received that error.
        """
        if peer < 0 or self not in _groups:
            return
        number = self._global_ranks[peer]
        for group in list(_groups):
            if group is self or number not in group._global_ranks:
                continue
            losses = group._losses()
            ended = sorted(rank for rank, cause in losses.items() if cause == "ended")
            if ended and losses.get(group._global_ranks.index(number)) == "left":
                raise Failure("ended", ended, group._members)

    def _losses(self) -> dict[int, str]:
        """The ranks that have ended or left, as far as it is known."""
        transport = self._transport
        knows = isinstance(transport, (MessageGroup, SharedMemoryGroup))
        return transport.losses() if knows else {}

    def _reason(self, cause: str, member: Member) -> str:
        if cause == "left":
            return "has left the group: an error on it, or destroy_process_group()"
        key = f"exit/{member.pid}"
        with contextlib.suppress(DistStoreError, RuntimeError):
            root = self._root_store()
            root.wait([key], timedelta(seconds=0.3))
            return f"has ended, {root.get(key).decode()}"
        return f"has ended; it had finished #{self._num_calls - 1}"

    def _root_store(self) -> Store:
        store = self._store
        assert store is not None
        while hasattr(store, "underlying_store"):
            store = store.underlying_store
        return store

    def _break(self, message: str) -> None:
        self._broken = message
        self._transport.leave(True)

    def _tell_slow(self, seconds: float, ranks: list[int]) -> None:
        """Called on the waiting thread when ranks are late."""
        call = self._describe(self._last) if self._last else "a message"
        places = []
        if isinstance(self._transport, SharedMemoryGroup):
            places = [f"rank {r} is in {self._transport.where(r, 1.0)}" for r in ranks]
        warnings.warn(
            f"{call}, #{self._num_calls} of group {self.group_name or 'default'!r}, "
            f"has waited {seconds:.0f} s for {failure.ranks_text(ranks)}: "
            + "; ".join(places),
            stacklevel=2,
        )

    def _answer(self, transport: SharedMemoryGroup) -> None:
        while not self._stopped.is_set():
            if transport.wait_for_question():
                transport.answer(_whereabouts())

    def check_alive(self, ranks: Sequence[int]) -> None:
        """Raises DistBackendError when one of the ranks is known to have ended."""
        others = [rank for rank in ranks if rank != self._rank]
        ended = [rank for rank in others if self._transport.has_ended(rank)]
        if ended:
            reasons = [self._reason("ended", self._members[rank]) for rank in ended]
            name, call = self.group_name or "default", f"a meeting ({call_site()})"
            given = self._num_calls, call, ended, self._members, reasons
            raise DistBackendError(failure.gone_text(name, *given))

    def under_way(self) -> str:
        """The current call, its number, its source line if another thread runs it, and
        its duration; empty if there is none.
        """
        call, since, site = self._last, self._since, self._site
        if call is None or not since:
            return ""
        number = f"#{self._num_calls} of group {self.group_name or 'default'!r}"
        seconds = time.monotonic() - since
        return f"{self._describe(call, site)}, {number}, for {seconds:.1f} s"

    def whereabouts(self) -> dict[int, str]:
        """What each rank is doing, by its global rank."""
        found = {}
        for rank, number in enumerate(self._global_ranks):
            is_own = rank == self._rank
            text = _whereabouts() if is_own else self._transport.where(rank, 1.0)
            found[number] = text or "no answer: it has ended or runs no Python code"
        return found

    # Collectives

    def _code(self, tensor: Any, reduction: int = 0) -> int:
        if tensor.is_meta:
            raise ValueError("tensors on the meta device have no values to send")
        if not tensor.is_contiguous():
            raise ValueError("Tensors must be contiguous")
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
            if op.code or code < 0 or not is_plain:
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
        code, count = self._code(input), input.numel()
        whole, after = None, None
        if outputs is not None:
            _check_outputs(outputs, input, self._size)
            whole = input.new_empty((self._size, count))
            joined = whole

            def after() -> None:
                for output, row in zip(outputs, joined, strict=True):
                    output.detach().copy_(row.view(output.shape))

        target = 0 if whole is None else whole.data_ptr()
        call = (kind, count, code, 0, root)
        alive = outputs, input, whole
        work = self._run(call, input.data_ptr(), target, opts, alive, after=after)
        work._tensors = outputs
        return work

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies every rank's tensor to all, into a list."""
        opts = opts or options.AllgatherOptions()
        (listed,), (input,) = outputs, inputs
        return self._gathered(codes.ALL_GATHER, listed, input.detach(), -1, opts)

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Work:
        opts = opts or options.AllgatherOptions()
        _check_sizes("all_gather_into_tensor", output, input, self._size)
        call = (codes.ALL_GATHER, input.numel(), self._code(input), 0, -1)
        self._code(output)
        alive = [output, input]
        return self._run(call, input.data_ptr(), output.data_ptr(), opts, alive)

    def gather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies every rank's tensor to the root."""
        opts = opts or options.GatherOptions()
        (input,) = inputs
        listed = outputs[0] if opts.rootRank == self._rank else None
        root = opts.rootRank
        return self._gathered(codes.GATHER, listed, input.detach(), root, opts)

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copies one tensor of the root's list to each rank."""
        opts = opts or options.ScatterOptions()
        (output,) = outputs
        whole = None
        if opts.rootRank == self._rank:
            (listed,) = inputs
            _check_outputs(listed, output, self._size)
            whole = torch.stack([tensor.detach() for tensor in listed])
        source = 0 if whole is None else whole.data_ptr()
        call = (codes.SCATTER, output.numel(), self._code(output), 0, opts.rootRank)
        return self._run(call, source, output.data_ptr(), opts, [output, whole])

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Combines lists, of which each rank gets one tensor."""
        (output,), (listed,) = outputs, inputs
        if len(listed) != self._size:
            _check_outputs(listed, output, self._size)
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
        _check_sizes("reduce_scatter_tensor", input, output, self._size)
        op = opts.reduceOp
        call = (codes.REDUCE_SCATTER, output.numel(), self._code(input, op.code))
        self._code(output)
        addresses = input.data_ptr(), output.data_ptr()
        alive = [output, input]
        return self._run((*call, op.code, -1), *addresses, opts, alive, op.factor)

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
        return self._all_to_all(target, source, taken, given, opts, unpack)

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
        taken = _element_counts("output", output, output_split_sizes, self._size)
        given = _element_counts("input", input, input_split_sizes, self._size)
        return self._all_to_all(output, input, taken, given, opts)

    def _all_to_all(
        self,
        output: Any,
        input: Any,
        taken: list[int],
        given: list[int],
        opts: Any,
        after: Callable[[], None] | None = None,
    ) -> Work:
        if self._broken or self._pid != os.getpid():
            self._refuse()
        code, item = self._code(input), input.element_size()
        self._code(output)
        timeout = self._timeout if opts.timeout is None else seconds_of(opts.timeout)
        call = (codes.ALL_TO_ALL, input.numel(), code, 0, -1)
        given, taken = [n * item for n in given], [n * item for n in taken]
        return self._submit(
            lambda: self._transport.all_to_all(
                input.data_ptr(), given, output.data_ptr(), taken, timeout
            ),
            *(call, opts, timeout, [output, input], after),
        )

    def barrier(self, opts: Any = None) -> Work:
        """Waits for all ranks."""
        opts = opts or options.BarrierOptions()
        return self._run((codes.BARRIER, 0, 0, 0, -1), 0, 0, opts, [])

    # Messages

    def _post(self, tensors: Any, peer: int, tag: int, is_send: bool) -> MessageWork:
        if self._broken or self._pid != os.getpid():
            self._refuse()
        (tensor,) = tensors
        self._code(tensor)
        post = self._transport.send if is_send else self._transport.receive
        nbytes = tensor.numel() * tensor.element_size()
        message = post(tensor.data_ptr(), nbytes, peer, tag)
        work = MessageWork(self, message, tensors, peer, is_send)
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

    def shutdown(self) -> None:
        """Waits at most two seconds for queued calls, and leaves the group."""
        if self._stopped.is_set() or self._pid != os.getpid():
            return
        self._queue.stop(0.0 if self._broken else 2.0)
        self._stopped.set()
        if not self._broken:
            self._broken = "the group was destroyed; call init_process_group again"
            self._transport.leave(False)
        self._queue.stop(2.0)
        if isinstance(self._transport, SharedMemoryGroup):
            self._transport.ask(self._rank)  # wakes the thread
            self._witness.join(2.0)


def _whereabouts() -> str:
    """The current calls of this process's groups, and its main thread's location."""
    running = [group.under_way() for group in list(_groups)]
    return "; ".join([*filter(None, running), main_thread_place()])


def _check_outputs(listed: Any, one: Any, size: int) -> None:
    if len(listed) != size:
        raise ValueError(
            f"one tensor of each of the group's {size} ranks is needed; the list has "
            f"{len(listed)}"
        )
    for tensor in listed:
        if tensor.dtype != one.dtype:
            raise ValueError(f"dtypes differ: {tensor.dtype} and {one.dtype}")
        if tensor.numel() != one.numel():
            raise ValueError(
                f"sizes differ: {list(tensor.shape)} and {list(one.shape)}; use "
                "all_to_all or all_gather_object for tensors of different sizes"
            )


def _check_sizes(name: str, whole: Any, part: Any, size: int) -> None:
    if whole.dtype != part.dtype:
        raise TypeError(f"{name}: dtypes differ: {whole.dtype} and {part.dtype}")
    if whole.numel() != part.numel() * size:
        raise ValueError(
            f"{name}: the larger tensor has {whole.numel()} elements; {size} ranks "
            f"with {part.numel()} elements each need {part.numel() * size}"
        )


def _element_counts(name: str, tensor: Any, splits: Any, size: int) -> list[int]:
    rows = tensor.shape[0] if tensor.ndim else 1
    if not splits:
        if rows % size:
            raise ValueError(
                f"Tensor's dim 0 does not divide equally across group size: {name} has "
                f"{rows} rows for {size} ranks; give {name}_split_sizes"
            )
        splits = [rows // size] * size
    if len(splits) != size or sum(splits) != rows:
        raise ValueError(
            f"Split sizes doesn't match total dim 0 size: {list(splits)} for {rows} "
            f"rows and {size} ranks"
        )
    row = tensor.numel() // rows if rows else 0
    return [count * row for count in splits]

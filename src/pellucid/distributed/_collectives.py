"""Collectives of tensors: the public functions over a group's methods."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from typing import Any, TypeVar

import pellucid as torch
from pellucid.distributed._group import options
from pellucid.distributed._group.reduce_op import ReduceOp
from pellucid.distributed._group.work import Work
from pellucid.distributed._group.world import (
    check_member,
    get_group_rank,
    group_of,
)

_Tensor = torch.Tensor


def _done(work: Work | None, async_op: bool) -> Work | None:
    """The Work, or None once it is done."""
    if async_op:
        return work
    if work is not None:
        work.wait()
    return None


_O = TypeVar("_O", bound=options._Options)


def _with(
    kind: type[_O], async_op: bool, op: ReduceOp = ReduceOp.SUM, root: int = 0
) -> _O:
    """Options of a group's method."""
    opts = kind()
    if async_op:
        opts.asyncOp = True
    if op is not ReduceOp.SUM:
        opts.reduceOp = op
    if root:
        opts.rootRank = root
    return opts


def _check_tensor(name: str, tensor: Any) -> None:
    if not isinstance(tensor, _Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type "
            f"torch.Tensor, but got {type(tensor).__name__}."
        )


def _check_list(name: str, tensors: Any) -> None:
    if not isinstance(tensors, (list, tuple)) or not all(
        isinstance(tensor, _Tensor) for tensor in tensors
    ):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type "
            "List[torch.Tensor]."
        )


def _root(
    group: Any, rank: int | None, group_rank: int | None, name: str, default: int = -1
) -> int:
    if (rank is None) == (group_rank is None):
        if rank is None and default >= 0:
            return default
        raise ValueError(f"Must specify one of {name} and group_{name}, not both")
    if group_rank is not None:
        return group_rank
    assert rank is not None
    return get_group_rank(group, rank)


def all_reduce(
    tensor: Any, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combines a tensor over all ranks, in place: the same bits on every rank.

    Sums are a fixed tree over the ranks, ((0+1)+(2+3))+..., in float32 for half types.
    """
    _check_tensor("tensor", tensor)
    if _coalescing is not None and not async_op:
        _coalescing.add("allreduce", group, (tensor,), op)
        return None
    if (target := check_member(group, "all_reduce")) is None:
        return None
    opts = _with(options.AllreduceOptions, async_op, op)
    return _done(target.allreduce([tensor], opts), async_op)


def all_reduce_coalesced(
    tensors: Any, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """``all_reduce`` of several tensors of one dtype as one."""
    tensors = [tensors] if isinstance(tensors, _Tensor) else tensors
    _check_list("tensors", tensors)
    if (target := check_member(group, "all_reduce_coalesced")) is None:
        return None
    opts = _with(options.AllreduceCoalescedOptions, async_op, op)
    return _done(target.allreduce_coalesced(tensors, opts), async_op)


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combines a tensor over all ranks into that of ``dst``."""
    _check_tensor("tensor", tensor)
    if (target := check_member(group, "reduce")) is None:
        return None
    root = _root(target, dst, group_dst, "dst")
    opts = _with(options.ReduceOptions, async_op, op, root)
    return _done(target.reduce([tensor], opts), async_op)


def broadcast(
    tensor: Any,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copies the tensor of ``src`` into that of every rank."""
    _check_tensor("tensor", tensor)
    if (target := check_member(group, "broadcast")) is None:
        return None
    root = _root(target, src, group_src, "src")
    opts = _with(options.BroadcastOptions, async_op, root=root)
    return _done(target.broadcast([tensor], opts), async_op)


def all_gather(
    tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copies every rank's tensor into ``tensor_list``, on all ranks."""
    _check_list("tensor_list", tensor_list)
    _check_tensor("tensor", tensor)
    if (target := check_member(group, "all_gather")) is None:
        return None
    opts = _with(options.AllgatherOptions, async_op)
    tensor = tensor.contiguous()
    return _done(target.allgather([tensor_list], [tensor], opts), async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copies every rank's tensor into one: concatenated, or stacked, by its shape."""
    _check_tensor("input_tensor", input_tensor)
    _check_tensor("output_tensor", output_tensor)
    if _coalescing is not None and not async_op:
        pair = output_tensor, input_tensor
        _coalescing.add("_allgather_base", group, pair, None)
        return None
    if (target := check_member(group, "all_gather_into_tensor")) is None:
        return None
    opts = _with(options.AllgatherOptions, async_op)
    work = target._allgather_base(output_tensor, input_tensor, opts)
    return _done(work, async_op)


_all_gather_base = all_gather_into_tensor


def all_gather_coalesced(
    output_tensor_lists: Any,
    input_tensor_list: Any,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """``all_gather`` of several tensors."""
    if (target := check_member(group, "all_gather_coalesced")) is None:
        return None
    _check_list("input_tensor_list", input_tensor_list)
    works = []
    for index, tensor in enumerate(input_tensor_list):
        opts = _with(options.AllgatherOptions, async_op)
        outputs = [listed[index] for listed in output_tensor_lists]
        works.append(target.allgather([outputs], [tensor.contiguous()], opts))
    return _done(works[-1], async_op) if works else None


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copies every rank's tensor into ``gather_list`` on rank ``dst`` (0)."""
    _check_tensor("tensor", tensor)
    if (target := check_member(group, "gather")) is None:
        return None
    root = _root(target, dst, group_dst, "dst", 0)
    opts = _with(options.GatherOptions, async_op, root=root)
    if target.rank() == root:
        if not gather_list:
            raise ValueError("gather_list must be specified on the destination rank")
        _check_list("gather_list", gather_list)
    elif gather_list:
        raise ValueError("gather_list must not be specified on non-destination ranks")
    outputs = [gather_list] if gather_list else []
    return _done(target.gather(outputs, [tensor.contiguous()], opts), async_op)


def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copies one tensor of ``scatter_list`` on rank ``src`` (0) to each rank."""
    _check_tensor("tensor", tensor)
    if (target := check_member(group, "scatter")) is None:
        return None
    root = _root(target, src, group_src, "src", 0)
    opts = _with(options.ScatterOptions, async_op, root=root)
    if target.rank() == root:
        if not scatter_list:
            raise ValueError("scatter_list must be specified on the source rank")
        _check_list("scatter_list", scatter_list)
    elif scatter_list:
        raise ValueError("scatter_list must not be specified on non-source ranks")
    inputs = [scatter_list] if target.rank() == root else []
    return _done(target.scatter([tensor], inputs, opts), async_op)


def reduce_scatter(
    output: Any,
    input_list: Any,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Combines lists over all ranks, of which rank r gets tensor r."""
    _check_tensor("output", output)
    _check_list("input_list", input_list)
    if (target := check_member(group, "reduce_scatter")) is None:
        return None
    opts = _with(options.ReduceScatterOptions, async_op, op)
    return _done(target.reduce_scatter([output], [input_list], opts), async_op)


def reduce_scatter_tensor(
    output: Any,
    input: Any,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Combines a tensor over all ranks, of which rank r gets part r."""
    _check_tensor("output", output)
    _check_tensor("input", input)
    if _coalescing is not None and not async_op:
        _coalescing.add("_reduce_scatter_base", group, (output, input), op)
        return None
    if (target := check_member(group, "reduce_scatter_tensor")) is None:
        return None
    opts = _with(options.ReduceScatterOptions, async_op, op)
    return _done(target._reduce_scatter_base(output, input, opts), async_op)


_reduce_scatter_base = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: Any,
    input_tensor_list: Any,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Copies tensor r of every rank's input list to rank r's output list."""
    _check_list("output_tensor_list", output_tensor_list)
    _check_list("input_tensor_list", input_tensor_list)
    if (target := check_member(group, "all_to_all")) is None:
        return None
    opts = _with(options.AllToAllOptions, async_op)
    work = target.alltoall(output_tensor_list, input_tensor_list, opts)
    return _done(work, async_op)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Copies part r of every rank's tensor to rank r; parts are equal, or as given."""
    _check_tensor("output", output)
    _check_tensor("input", input)
    if (target := check_member(group, "all_to_all_single")) is None:
        return None
    opts = _with(options.AllToAllOptions, async_op)
    work = target.alltoall_base(
        output, input, output_split_sizes or [], input_split_sizes or [], opts
    )
    return _done(work, async_op)


def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: datetime.timedelta | None = None,
) -> Work | None:
    """Waits until all ranks have called it, at most ``timeout``."""
    if (target := check_member(group, "barrier")) is None:
        return None
    opts = options.BarrierOptions()
    opts.asyncOp, opts.device_ids, opts.timeout = async_op, device_ids, timeout
    return _done(target.barrier(opts), async_op)


def monitored_barrier(
    group: Any = None,
    timeout: datetime.timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """``barrier`` with its own timeout; the error names all ranks that are missing,
    with or without ``wait_all_ranks``.
    """
    if (target := check_member(group, "monitored_barrier")) is None:
        return
    target.monitored_barrier(timeout, wait_all_ranks)


class _Coalescing:
    """Collects calls of one kind and runs them when the block ends."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.calls: list[tuple[str, tuple[Any, ...], Any]] = []
        self.works: list[Any] = []

    def add(self, name: str, group: Any, tensors: tuple[Any, ...], op: Any) -> None:
        """Collects a call."""
        if group is not None and group_of(group) is not group_of(self.group):
            raise AssertionError("coalesced collectives must use one group")
        self.calls.append((name, tensors, op))

    def start(self, is_async: bool) -> None:
        """Runs the calls; ``allreduce`` calls of one operation and dtype are merged."""
        target = group_of(self.group)
        if not self.calls:
            return
        names = {name for name, _, _ in self.calls}
        if len(names) > 1:
            raise RuntimeError(f"coalesced collectives must be of one kind: {names}")
        (name,) = names
        keys = {(op, tensors[0].dtype) for _, tensors, op in self.calls}
        if name == "allreduce" and len(keys) == 1:
            whole = [tensor for _, (tensor,), _ in self.calls]
            op = self.calls[0][2] or ReduceOp.SUM
            opts = _with(options.AllreduceCoalescedOptions, is_async, op)
            self.works.append(target.allreduce_coalesced(whole, opts))
            return
        for _, tensors, op in self.calls:
            each = _with(options.ReduceScatterOptions, is_async, op or ReduceOp.SUM)
            called = ([tensors[0]],) if name == "allreduce" else tensors
            self.works.append(getattr(target, name)(*called, each))


_coalescing: _Coalescing | None = None


class _CoalescingManager:
    """The result of ``_coalescing_manager(async_ops=True)``: waits for its
    collectives.
    """

    def __init__(self) -> None:
        self.works: list[Any] = []

    def append(self, work: Any) -> None:
        """Adds a Work."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Waits for all."""
        for work in self.works:
            work.wait()
        self.works = []


@contextlib.contextmanager
def _coalescing_manager(
    group: Any = None, device: Any = None, async_ops: bool = False
) -> Iterator[_CoalescingManager]:
    """A context whose collectives run together when it ends."""
    global _coalescing
    manager, _coalescing = _CoalescingManager(), _Coalescing(group)
    collected = _coalescing
    try:
        yield manager
    finally:
        _coalescing = None
    collected.start(async_ops)
    manager.works = collected.works
    if not async_ops:
        manager.wait()

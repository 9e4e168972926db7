"""Redistributions along one mesh dim: collectives of local tensors, with gradients.

The gradient of a replicated value is replicated, that of a shard is the same shard of
the gradient, and that of a partial sum is the full gradient: so each move's backward is
another move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pellucid as torch
import pellucid.distributed as dist
from pellucid.autograd import Function
from pellucid.distributed.tensor.placement_types import Shard
from pellucid_compiler.transforms.shard_rules import Window
from pellucid_compiler.transforms.shard_windows import part_ranges

_OPS = {
    "sum": dist.ReduceOp.SUM,
    "avg": dist.ReduceOp.AVG,
    "prod": dist.ReduceOp.PRODUCT,
    "product": dist.ReduceOp.PRODUCT,
    "max": dist.ReduceOp.MAX,
    "min": dist.ReduceOp.MIN,
    "and": dist.ReduceOp.BAND,
    "or": dist.ReduceOp.BOR,
}


class Line(NamedTuple):
    """The processes along one mesh dim: their group, their number, this one's index."""

    group: Any
    size: int
    place: int

    def part(self, whole: int, place: int | None = None) -> tuple[int, int]:
        """The size and offset of a process's shard of so many elements."""
        own = self.place if place is None else place
        return Shard.local_shard_size_and_offset(whole, self.size, own)


def _gathered(line: Line, part: Any, dim: int, whole: int) -> Any:
    sizes = [line.part(whole, place)[0] for place in range(line.size)]
    part = part.contiguous()
    if len(set(sizes)) == 1:
        stacked = part.new_empty((line.size, *part.shape))
        dist.all_gather_into_tensor(stacked, part, line.group)
        return torch.cat(list(stacked.unbind(0)), dim) if dim else stacked.flatten(0, 1)
    full = list(part.shape)
    full[dim] = max(sizes)
    padded = part.new_zeros(full)
    padded.narrow(dim, 0, part.shape[dim]).copy_(part)
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded, line.group)
    each = zip(parts, sizes, strict=True)
    return torch.cat([part.narrow(dim, 0, size) for part, size in each], dim)


def _own_part(line: Line, whole: Any, dim: int) -> Any:
    size, first = line.part(whole.shape[dim])
    return whole.narrow(dim, first, size).contiguous()


def _reduced(line: Line, x: Any, op: str) -> Any:
    total = x.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, _OPS[op], line.group)
    return total


class Gather(Function):
    """Shards to the full tensor: all_gather."""

    by = "all_gather"

    @staticmethod
    def forward(ctx: Any, line: Line, dim: int, whole: int, part: Any) -> Any:
        ctx.line, ctx.dim = line, dim
        return _gathered(line, part, dim, whole)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, None, Slice.apply(ctx.line, ctx.dim, grad)


class Slice(Function):
    """The full tensor to this process's shard."""

    by = "its own part"

    @staticmethod
    def forward(ctx: Any, line: Line, dim: int, whole: Any) -> Any:
        ctx.line, ctx.dim, ctx.size = line, dim, whole.shape[dim]
        return _own_part(line, whole, dim)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, Gather.apply(ctx.line, ctx.dim, ctx.size, grad)


class Join(Function):
    """Partial values to their combination: all_reduce."""

    by = "all_reduce"

    @staticmethod
    def forward(ctx: Any, line: Line, op: str, partial: Any) -> Any:
        ctx.op, ctx.size = op, line.size
        total = _reduced(line, partial, op)
        if op not in (
            "sum",
            "avg",
        ):  # which process has the extreme is unknown
            ctx.mark_non_differentiable(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, grad / ctx.size if ctx.op == "avg" else grad.clone()


class JoinPart(Function):
    """Partial sums to this process's shard of their sum: reduce_scatter."""

    by = "reduce_scatter"

    @staticmethod
    def forward(ctx: Any, line: Line, dim: int, op: str, partial: Any) -> Any:
        ctx.line, ctx.dim, ctx.op = line, dim, op
        ctx.size = size = partial.shape[dim]
        if size % line.size:
            return _own_part(line, _reduced(line, partial, op), dim)
        parts = partial.chunk(line.size, dim)
        source = torch.stack([part.contiguous() for part in parts])
        found = torch.empty_like(source[0])
        dist.reduce_scatter_tensor(found, source, _OPS[op], line.group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        whole = Gather.apply(ctx.line, ctx.dim, ctx.size, grad)
        whole = whole / ctx.line.size if ctx.op == "avg" else whole
        return None, None, None, whole


class Part(Function):
    """The full tensor as partial sums: on the first process, zeros elsewhere."""

    by = "zeros on other processes"

    @staticmethod
    def forward(ctx: Any, line: Line, whole: Any) -> Any:
        return torch.zeros_like(whole) if line.place else whole.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, grad.clone()


class Exchange(Function):
    """Shards along one dim to shards along another: all_to_all."""

    by = "all_to_all"

    @staticmethod
    def forward(ctx: Any, line: Line, dims: Any, whole: int, part: Any) -> Any:
        have, want = dims
        ctx.line, ctx.dims, ctx.size = line, dims, part.shape[want]
        pieces = []
        for place in range(line.size):
            size, first = line.part(part.shape[want], place)
            pieces.append(part.narrow(want, first, size).contiguous())
        taken = []
        for place in range(line.size):
            shape = list(part.shape)
            shape[have] = line.part(whole, place)[0]
            shape[want] = line.part(part.shape[want])[0]
            taken.append(part.new_empty(shape))
        dist.all_to_all(taken, pieces, line.group)
        return torch.cat(taken, have)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        dims = ctx.dims[1], ctx.dims[0]
        return None, None, None, Exchange.apply(ctx.line, dims, ctx.size, grad)


def _received(line: Line, dim: int, have: Any, want: Any, rows: Any) -> list[Any]:
    """What each process sends of the rows that this one wants: processes have and want
    ranges of rows.
    """

    def common(giver: int, taker: int) -> tuple[int, int]:
        first = max(have[giver][0], want[taker][0])
        return first, max(min(have[giver][1], want[taker][1]) - first, 0)

    own, pieces, taken = line.place, [], []
    for place in range(line.size):
        first, count = common(own, place)
        start = first - have[own][0] if count else 0
        pieces.append(rows.narrow(dim, start, count).contiguous())
        shape = list(rows.shape)
        shape[dim] = common(place, own)[1]
        taken.append(rows.new_empty(shape))
    dist.all_to_all(taken, pieces, line.group)
    return taken


class WithNeighbours(Function):
    """Shards to the rows of each process's window: all_to_all."""

    @staticmethod
    def forward(ctx: Any, line: Line, window: Window, part: Any) -> Any:
        ctx.line, ctx.window = line, window
        owned = part_ranges(window.size, line.size)
        taken = _received(line, window.dim, owned, window.ranges, part)
        return torch.cat(taken, window.dim)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, ToOwners.apply(ctx.line, ctx.window, grad)


class ToOwners(Function):
    """Windows' rows to shards of their sums: all_to_all."""

    @staticmethod
    def forward(ctx: Any, line: Line, window: Window, rows: Any) -> Any:
        ctx.line, ctx.window = line, window
        dim, owned = window.dim, part_ranges(window.size, line.size)
        first, end = owned[line.place]
        shape = list(rows.shape)
        shape[dim] = end - first
        total = rows.new_zeros(shape)
        taken = _received(line, dim, window.ranges, owned, rows)
        for (start, _), piece in zip(window.ranges, taken, strict=True):
            if piece.shape[dim]:
                place = max(start - first, 0)
                total.narrow(dim, place, piece.shape[dim]).add_(piece)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, WithNeighbours.apply(ctx.line, ctx.window, grad)


class Enter(Function):
    """A replicated operand of sharded work: the identity; gradients are summed."""

    by = "all_reduce of its gradient"

    @staticmethod
    def forward(ctx: Any, line: Line, whole: Any) -> Any:
        ctx.line = line
        return whole.view_as(whole)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, Join.apply(ctx.line, "sum", grad)

"""Collectives with gradients: the derivative of each is another collective.

The transpose of a sum is a sum, of a gather a reduce-scatter, of an exchange the
inverse exchange. Each backward is a collective, so all ranks must run it.
"""

from __future__ import annotations

from typing import Any

import pellucid as torch
import pellucid.distributed as dist
from pellucid.autograd import Function

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

_SUM = dist.ReduceOp.SUM


def _own(group: Any) -> Any:
    return dist.group.WORLD if group is None else group


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Any) -> Any:
        ctx.op, ctx.group = op, group
        total = tensor.clone().contiguous()
        dist.all_reduce(total, op, group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, gradient)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Any) -> Any:
        ctx.src, ctx.group = src, group
        copied = tensor.clone().contiguous()
        dist.broadcast(copied, src, group)
        return copied

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        total = _Reduce.apply(ctx.src, _SUM, ctx.group, gradient)
        is_root = dist.get_rank() == ctx.src
        return None, None, total if is_root else torch.zeros_like(total)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        total = tensor.clone().contiguous()
        dist.reduce(total, dst, op, group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, gradient)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Any) -> Any:
        ctx.group = group
        parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, tensor.contiguous(), group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, _ReduceScatter.apply(_SUM, ctx.group, *gradients)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, *tensors: Any) -> Any:
        ctx.group = group
        output = torch.empty_like(tensors[dist.get_rank(group)])
        dist.reduce_scatter(output, [t.contiguous() for t in tensors], op, group)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return (None, None, *_AllGather.apply(ctx.group, gradient))


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        size = dist.get_world_size(group)
        parts = [torch.zeros_like(tensor) for _ in range(size)]
        is_root = dist.get_rank() == dst
        dist.gather(tensor.contiguous(), parts if is_root else None, dst, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *gradients)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Any) -> Any:
        ctx.src, ctx.group = src, group
        output = torch.zeros_like(tensors[0])
        given = [t.contiguous() for t in tensors] if dist.get_rank() == src else None
        dist.scatter(output, given, src, group)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return (None, None, *_Gather.apply(ctx.src, ctx.group, gradient))


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: Any, *tensors: Any) -> Any:
        ctx.group = group
        ctx.shapes = [tensor.shape for tensor in tensors]
        results = [torch.empty_like(output) for output in outputs]
        dist.all_to_all(results, [t.contiguous() for t in tensors], group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        given = [gradients[0].new_empty(shape) for shape in ctx.shapes]
        return (None, None, *_AllToAll.apply(ctx.group, given, *gradients))


class _AllToAllSingle(Function):
    @staticmethod
    def forward(
        ctx: Any, group: Any, output: Any, taken: Any, given: Any, tensor: Any
    ) -> Any:
        ctx.group, ctx.shape, ctx.splits = group, tensor.shape, (given, taken)
        result = torch.empty_like(output)
        dist.all_to_all_single(result, tensor.contiguous(), taken, given, group)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        back = gradient.new_empty(ctx.shape)
        found = _AllToAllSingle.apply(ctx.group, back, *ctx.splits, gradient)
        return None, None, None, None, found


def all_reduce(tensor: Any, op: Any = _SUM, group: Any = None) -> Any:
    """The tensor combined over the ranks, as a new one."""
    return _AllReduce.apply(op, _own(group), tensor)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of rank ``src``."""
    return _Broadcast.apply(src, _own(group), tensor)


def reduce(tensor: Any, dst: int, op: Any = _SUM, group: Any = None) -> Any:
    """The tensor combined over the ranks, on rank ``dst``."""
    return _Reduce.apply(dst, op, _own(group), tensor)


def all_gather(tensor: Any, group: Any = None) -> Any:
    """Every rank's tensor."""
    return _AllGather.apply(_own(group), tensor)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> Any:
    """Every rank's tensor on rank ``dst``; zeros elsewhere."""
    return _Gather.apply(dst, _own(group), tensor)


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """Tensor r of rank ``src``'s list on rank r."""
    return _Scatter.apply(src, _own(group), *tensors)


def reduce_scatter(
    output: Any, input_list: Any, op: Any = _SUM, group: Any = None
) -> Any:
    """Tensor r of the lists, combined, on rank r."""
    return _ReduceScatter.apply(op, _own(group), *input_list)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None
) -> Any:
    """Tensor r of every rank's list on rank r."""
    return _AllToAll.apply(_own(group), output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
) -> Any:
    """Part r of every rank's tensor on rank r."""
    splits = output_split_sizes, input_split_sizes
    return _AllToAllSingle.apply(_own(group), output, *splits, input)

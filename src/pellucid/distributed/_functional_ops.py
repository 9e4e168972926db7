"""Collectives as ops that return their results: ``torch.ops._c10d_functional``.

Each op has a shape rule and a derivative, which is another of these ops, so they trace,
compile, and have gradients of any order. Groups are named. ``_functional_collectives``
has PyTorch's functions over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed._group.reduce_op import ReduceOp
from pellucid.distributed._group.world import group_named, world
from pellucid.library import Library, register_autograd, register_fake

_LIBRARY = Library("_c10d_functional", "DEF")
ops = torch.ops._c10d_functional

_Tensors = Sequence[Any]


def reduction(name: str) -> ReduceOp:
    """The ReduceOp of a name such as "sum" or "AVG"."""
    found = getattr(ReduceOp, name.upper(), None)
    if not isinstance(found, ReduceOp):
        raise ValueError(f"{name!r} is not a reduction: sum, avg, product, min, max...")
    return found


def _op(schema: str, like: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates the kernel of an op; ``like`` makes results of the same shape."""

    def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
        name = _LIBRARY.define(schema)
        _LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
        register_fake(name, like, lib=_LIBRARY)
        return kernel

    return register


def rows_of(input: Any) -> int:
    """The size of dim 0."""
    if input.dim() == 0:
        raise IndexError("collectives of rows need a tensor of at least one dim, not 0")
    return int(input.shape[0])


def _same(input: Any, *_: Any) -> Any:
    return torch.empty_like(input, memory_format=torch.contiguous_format)


def _larger(input: Any, group_size: int, *_: Any) -> Any:
    return input.new_empty((rows_of(input) * group_size, *input.shape[1:]))


def _smaller(input: Any, _: str, group_size: int, *__: Any) -> Any:
    return input.new_empty((rows_of(input) // group_size, *input.shape[1:]))


def _exchanged(input: Any, output_split_sizes: Sequence[int], *_: Any) -> Any:
    rows_of(input)
    return input.new_empty((sum(output_split_sizes), *input.shape[1:]))


def _copy(input: Any) -> Any:
    return input.clone(memory_format=torch.contiguous_format)


@_op("all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor", _same)
def _all_reduce(input: Any, reduce_op: str, group_name: str) -> Any:
    total = _copy(input)
    dist.all_reduce(total, reduction(reduce_op), group_named(group_name))
    return total


@_op(
    "all_reduce_(Tensor(a!) input, str reduce_op, str group_name) -> Tensor(a!)",
    lambda input, *_: input,
)
def _all_reduce_in_place(input: Any, reduce_op: str, group_name: str) -> Any:
    dist.all_reduce(input, reduction(reduce_op), group_named(group_name))
    return input


@_op("broadcast(Tensor input, int src, str group_name) -> Tensor", _same)
def _broadcast(input: Any, src: int, group_name: str) -> Any:
    copied = _copy(input)
    dist.broadcast(copied, group=group_named(group_name), group_src=src)
    return copied


@_op(
    "all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor",
    _larger,
)
def _all_gather(input: Any, group_size: int, group_name: str) -> Any:
    whole = _larger(input, group_size)
    dist.all_gather_into_tensor(whole, input.contiguous(), group_named(group_name))
    return whole


@_op(
    "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, "
    "str group_name) -> Tensor",
    _smaller,
)
def _reduce_scatter(
    input: Any, reduce_op: str, group_size: int, group_name: str
) -> Any:
    part = _smaller(input, reduce_op, group_size)
    given = input.contiguous(), reduction(reduce_op), group_named(group_name)
    dist.reduce_scatter_tensor(part, *given)
    return part


@_op(
    "all_to_all_single(Tensor input, SymInt[] output_split_sizes, "
    "SymInt[] input_split_sizes, str group_name) -> Tensor",
    _exchanged,
)
def _all_to_all(
    input: Any,
    output_split_sizes: Sequence[int],
    input_split_sizes: Sequence[int],
    group_name: str,
) -> Any:
    found = _exchanged(input, output_split_sizes)
    sizes = list(output_split_sizes), list(input_split_sizes)
    dist.all_to_all_single(found, input.contiguous(), *sizes, group_named(group_name))
    return found


@_op(
    "wait_tensor(Tensor tensor) -> Tensor",  # PyTorch's, though the result is an alias
    lambda tensor: tensor.new_empty_strided(tensor.shape, tensor.stride()),
)
def _wait(tensor: Any) -> Any:
    return tensor


def _each(name: str) -> Callable[..., list[Any]]:
    def run(inputs: _Tensors, *facts: Any) -> list[Any]:
        return [getattr(ops, name)(each, *facts) for each in inputs]

    return run


for _name, _facts in (
    ("all_reduce", "str reduce_op, str group_name"),
    ("all_gather_into_tensor", "int group_size, str group_name"),
    ("reduce_scatter_tensor", "str reduce_op, int group_size, str group_name"),
):
    _schema = f"{_name}_coalesced(Tensor[] inputs, {_facts}) -> Tensor[]"
    _op(_schema, _each(_name))(_each(_name))


def group_of_ranks(ranks: Sequence[int], tag: str) -> Any:
    """The group of these ranks, in this order."""
    if tag:
        raise ValueError(
            f"there is no group with the tag {tag!r}: groups have no tags; give the "
            "group itself"
        )
    for group in world.groups:
        if dist.get_process_group_ranks(group) == list(ranks):
            return group
    raise ValueError(
        f"there is no group of the ranks {list(ranks)}: make it by new_group"
    )


def _group_with(ranks: Sequence[int], tag: str) -> str:
    return str(group_of_ranks(ranks, tag).group_name)


def _define_former(schema: str, to: Callable[..., Any]) -> None:
    """An op under its former name, with a group given by its ranks."""
    full = f"{schema}, str tag, int[] ranks, int group_size) -> Tensor"
    _FORMER.impl(_FORMER.define(full), to, "CompositeImplicitAutograd")


_FORMER = Library("c10d_functional", "DEF")
_define_former(
    "all_reduce(Tensor self, str reduceOp",
    lambda x, op, tag, ranks, size: ops.all_reduce(x, op, _group_with(ranks, tag)),
)
_define_former(
    "broadcast(Tensor self, int src",
    lambda x, src, tag, ranks, size: ops.broadcast(x, src, _group_with(ranks, tag)),
)
_define_former(
    "all_gather_into_tensor(Tensor shard",
    lambda x, tag, ranks, size: ops.all_gather_into_tensor(
        x, size, _group_with(ranks, tag)
    ),
)
_define_former(
    "reduce_scatter_tensor(Tensor input, str reduceOp",
    lambda x, op, tag, ranks, size: ops.reduce_scatter_tensor(
        x, op, size, _group_with(ranks, tag)
    ),
)
_define_former(
    "all_to_all_single(Tensor input, SymInt[]? output_split_sizes, "
    "SymInt[]? input_split_sizes",
    lambda x, taken, given, tag, ranks, size: ops.all_to_all_single(
        x,
        taken or [rows_of(x) // size] * size,
        given or [rows_of(x) // size] * size,
        _group_with(ranks, tag),
    ),
)


# Derivatives. What a mean passes on is divided once, by the same op.


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.facts = inputs[1:]


def _check_linear(reduce_op: str) -> None:
    if reduce_op.lower() not in ("sum", "avg"):
        raise RuntimeError(f"collectives by {reduce_op!r} have no gradient; sum has")


def _all_reduce_backward(ctx: Any, grad: Any) -> Any:
    reduce_op, group_name = ctx.facts
    _check_linear(reduce_op)
    return ops.all_reduce(grad, reduce_op, group_name), None, None


def _broadcast_backward(ctx: Any, grad: Any) -> Any:
    src, group_name = ctx.facts
    total = ops.all_reduce(grad, "sum", group_name)
    is_root = group_named(group_name).rank() == src
    return total if is_root else torch.zeros_like(total), None, None


def _all_gather_backward(ctx: Any, grad: Any) -> Any:
    group_size, group_name = ctx.facts
    part = ops.reduce_scatter_tensor(grad, "sum", group_size, group_name)
    return part, None, None


def _reduce_scatter_backward(ctx: Any, grad: Any) -> Any:
    reduce_op, group_size, group_name = ctx.facts
    _check_linear(reduce_op)
    whole = ops.all_gather_into_tensor(grad, group_size, group_name)
    is_mean = reduce_op.lower() == "avg"
    return whole / group_size if is_mean else whole, None, None, None


def _all_to_all_backward(ctx: Any, grad: Any) -> Any:
    taken, given, group_name = ctx.facts
    back = ops.all_to_all_single(grad, given, taken, group_name)
    return back, None, None, None


for _name, _backward in (
    ("all_reduce", _all_reduce_backward),
    ("broadcast", _broadcast_backward),
    ("all_gather_into_tensor", _all_gather_backward),
    ("reduce_scatter_tensor", _reduce_scatter_backward),
    ("all_to_all_single", _all_to_all_backward),
    ("wait_tensor", lambda ctx, grad: grad),
):
    register_autograd(
        f"_c10d_functional::{_name}", _backward, setup_context=_keep, lib=_LIBRARY
    )

"""``torch.distributed._functional_collectives``: collectives that return tensors.

They are ops (``_functional_ops.py``), complete when they return. A group is a process
group or its name, a list of ranks, a mesh of one dim, or a mesh and a dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid as torch
from pellucid import Tensor
from pellucid import distributed as dist
from pellucid.distributed._functional_ops import (
    group_of_ranks,
    ops,
    reduction,
    rows_of,
)
from pellucid.distributed._group.world import group_named, group_of

__all__ = [
    "AsyncCollectiveTensor",
    "all_gather_into_tensor_coalesced",
    "all_gather_single",
    "all_gather_single_autograd",
    "all_gather_single_coalesced",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_gather_tensor_inplace",
    "all_reduce",
    "all_reduce_coalesced",
    "all_reduce_inplace",
    "all_to_all_inplace",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_single",
    "reduce_scatter_single_autograd",
    "reduce_scatter_single_coalesced",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "reduce_scatter_tensor_inplace",
    "wait_tensor",
]


class AsyncCollectiveTensor(Tensor):
    """A result that is not complete, for ``isinstance``: no function here returns
    one.
    """

    def wait(self) -> Tensor:
        """The complete result."""
        return wait_tensor(self)


def _expand_group(group: Any, tag: str = "") -> tuple[Any, int]:
    """The process group and its size."""
    mesh_type: Any = dist.DeviceMesh
    found = group
    if isinstance(group, str):
        found = group_named(group)
    elif isinstance(group, mesh_type):
        found = group.get_group()
    elif isinstance(group, (tuple, list)) and isinstance(group[0], mesh_type):
        found = group[0].get_group(group[1])
    elif isinstance(group, (tuple, list)):
        found = _group_of_ranks(group, tag)
    elif group is not None and not isinstance(group, dist.ProcessGroup):
        raise RuntimeError(
            "a group is a ProcessGroup or its name, a DeviceMesh, (DeviceMesh, dim) or "
            f"a list of ranks, not {type(group).__name__}"
        )
    found = group_of(found)
    return found, found.size()


def _group_of_ranks(ranks: Sequence[Any], tag: str) -> Any:
    rows = [list(row) for row in ranks] if isinstance(ranks[0], (tuple, list)) else []
    own = dist.get_rank()
    chosen = next((row for row in rows if own in row), list(ranks))
    return group_of_ranks(chosen, tag)


def _resolve_group_name(group: Any, tag: str = "") -> str:
    return str(_expand_group(group, tag)[0].group_name)


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor: it is complete."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The combination of the ranks' tensors, by "sum", "avg", "max"..."""
    return ops.all_reduce(self, reduceOp.lower(), _resolve_group_name(group, tag))  # type: ignore[no-any-return]


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank ``src`` of the group."""
    return ops.broadcast(self, src, _resolve_group_name(group, tag))  # type: ignore[no-any-return]


def _wrapped(tensor: Tensor, dim: int) -> int:
    tensor.size(dim)  # IndexError out of range
    return dim % tensor.dim()


def _in_front(tensor: Tensor, dim: int, parts: int) -> Tensor:
    """Parts along ``dim`` as parts along dim 0."""
    return torch.cat(tensor.chunk(parts, dim)) if dim else tensor


def _in_place(tensor: Tensor, dim: int, parts: int) -> Tensor:
    """Parts along dim 0 as parts along ``dim``."""
    return torch.cat(tensor.chunk(parts), dim) if dim else tensor


def all_gather_tensor(
    self: Tensor, gather_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """The ranks' tensors, concatenated along a dim."""
    found, size = _expand_group(group, tag)
    dim = _wrapped(self, gather_dim)
    whole = ops.all_gather_into_tensor(self, size, found.group_name)
    return _in_place(whole, dim, size)


def reduce_scatter_tensor(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """This rank's part, along a dim, of the combination of the ranks' tensors."""
    found, size = _expand_group(group, tag)
    dim = _wrapped(self, scatter_dim)
    if self.shape[dim] % size:
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.shape[dim]}) must be a "
            f"multiple of group_size {size}"
        )
    parts = _in_front(self, dim, size)
    return ops.reduce_scatter_tensor(  # type: ignore[no-any-return]
        parts, reduceOp.lower(), size, found.group_name
    )


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Exchanges rows of a tensor among the ranks: ``input_split_sizes`` are the numbers
    of rows sent to each rank, ``output_split_sizes`` those received from each; both are
    equal by default.
    """
    found, size = _expand_group(group, tag)
    if output_split_sizes is None or input_split_sizes is None:
        if not (output_split_sizes is None and input_split_sizes is None):
            raise AssertionError(
                "output_split_sizes and input_split_sizes must either be specified "
                "together or both set to None"
            )
        output_split_sizes = input_split_sizes = [rows_of(self) // size] * size
    return ops.all_to_all_single(  # type: ignore[no-any-return]
        self, output_split_sizes, input_split_sizes, found.group_name
    )


def permute_tensor(
    self: Tensor, src_dst: Sequence[int], group: Any, tag: str = ""
) -> Tensor:
    """Sends the tensor to rank ``src_dst[rank]``; what this rank receives."""
    found, size = _expand_group(group, tag)
    rank = found.rank()
    if sorted(src_dst) != list(range(size)):
        raise AssertionError(f"src_dst must permute {size} ranks: {src_dst}")
    given, taken = [0] * size, [0] * size
    given[src_dst[rank]] = taken[list(src_dst).index(rank)] = self.numel()
    flat = all_to_all_single(self.reshape(-1), taken, given, found)
    return flat.view(self.shape)


def all_reduce_coalesced(
    self: list[Tensor], reduceOp: str, group: Any, tag: str = ""
) -> list[Tensor]:
    """``all_reduce`` of each tensor."""
    return [all_reduce(each, reduceOp, group, tag) for each in self]


def all_gather_into_tensor_coalesced(
    self: list[Tensor], group: Any, tag: str = ""
) -> list[Tensor]:
    """``all_gather_tensor`` of each tensor, along dim 0."""
    return [all_gather_tensor(each, 0, group, tag) for each in self]


def reduce_scatter_tensor_coalesced(
    inputs: list[Tensor],
    reduceOp: str,
    scatter_dim: list[int],
    group: Any,
    tag: str = "",
) -> list[Tensor]:
    """``reduce_scatter_tensor`` of each tensor, along its dim."""
    return [
        reduce_scatter_tensor(each, reduceOp, dim, group, tag)
        for each, dim in zip(inputs, scatter_dim, strict=True)
    ]


# All have gradients; PyTorch has a second name for those that have.
all_gather_tensor_autograd = all_gather_single_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_tensor
reduce_scatter_single_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single
all_gather_single = all_gather_tensor
all_gather_single_coalesced = all_gather_into_tensor_coalesced
reduce_scatter_single = reduce_scatter_tensor
reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced


def _check_synchronous(name: str, async_op: bool) -> None:
    if async_op:
        raise AssertionError(f"{name}: async_op is not supported; use the result")


def all_reduce_inplace(
    tensor: Tensor,
    op: str = "sum",
    group: Any = None,
    async_op: bool = False,
    tag: str = "",
) -> Tensor:
    """``dist.all_reduce`` by the name of the reduction; the tensor."""
    _check_synchronous("all_reduce_inplace", async_op)
    dist.all_reduce(tensor, reduction(str(op)), _expand_group(group, tag)[0])
    return tensor


def all_gather_tensor_inplace(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: Any = None,
    async_op: bool = False,
    tag: str = "",
    gather_dim: int = 0,
) -> Tensor:
    """``all_gather_tensor`` into a tensor, which is returned."""
    _check_synchronous("all_gather_tensor_inplace", async_op)
    return output_tensor.copy_(all_gather_tensor(input_tensor, gather_dim, group, tag))


def reduce_scatter_tensor_inplace(
    output: Tensor,
    input: Tensor,
    op: str = "sum",
    group: Any = None,
    async_op: bool = False,
    scatter_dim: int = 0,
    tag: str = "",
) -> Tensor:
    """``reduce_scatter_tensor`` into a tensor, which is returned."""
    _check_synchronous("reduce_scatter_tensor_inplace", async_op)
    return output.copy_(reduce_scatter_tensor(input, str(op), scatter_dim, group, tag))


def all_to_all_inplace(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
    tag: str = "",
) -> Tensor:
    """``all_to_all_single`` into a tensor, which is returned."""
    _check_synchronous("all_to_all_inplace", async_op)
    sizes = output_split_sizes, input_split_sizes
    return output.copy_(all_to_all_single(input, *sizes, group, tag))

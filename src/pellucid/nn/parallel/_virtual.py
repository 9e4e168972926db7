"""``virtual_ranks``: the same bits at every world size.

A batch is split into one shard per virtual rank. A rank computes its shards in turn,
each with its own random numbers, and sums their gradients in a tree whose upper part is
the all_reduce over ranks.
"""

from __future__ import annotations

from typing import Any

import pellucid as torch
from pellucid.autograd import Function
from pellucid.func import functional_call
from pellucid.utils import _pytree as pytree


class _Copies(Function):
    """One copy of a parameter per shard; gradients are summed in a tree."""

    @staticmethod
    def forward(ctx: Any, parameter: Any, count: int) -> Any:
        return tuple(parameter.view_as(parameter) for _ in range(count))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _tree(list(gradients)), None


def _tree(values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    half = 1
    while 2 * half < len(values):
        half *= 2
    return _tree(values[:half]) + _tree(values[half:])


def _cut(value: Any, count: int) -> list[Any]:
    leaves, spec = pytree.tree_flatten(value)
    parts: list[list[Any]] = [[] for _ in range(count)]
    for leaf in leaves:
        is_batch = isinstance(leaf, torch.Tensor) and leaf.dim() > 0
        if is_batch and leaf.shape[0] % count:
            raise ValueError(
                f"a batch of {leaf.shape[0]} does not split into {count} equal shards, "
                "which virtual_ranks needs on this rank"
            )
        cut = leaf.chunk(count) if is_batch else [leaf] * count
        for part, piece in zip(parts, cut, strict=True):
            part.append(piece)
    return [pytree.tree_unflatten(part, spec) for part in parts]


def _join(values: list[Any]) -> Any:
    flat = [pytree.tree_flatten(value) for value in values]
    joined = [
        torch.cat(leaves) if isinstance(leaves[0], torch.Tensor) else leaves[0]
        for leaves in zip(*(leaves for leaves, _ in flat), strict=True)
    ]
    return pytree.tree_unflatten(joined, flat[0][1])


class VirtualRanks:
    """Runs a module on one shard at a time."""

    def __init__(self, count: int, rank: int, size: int) -> None:
        if count % size or count & (count - 1):
            raise ValueError(
                f"virtual_ranks={count} must be a power of two that the world size "
                f"({size}) divides"
            )
        self._count, self._per_rank = count, count // size
        self._first, self._step = rank * self._per_rank, 0
        self._seed = torch.initial_seed()

    def run(self, module: Any, inputs: Any, options: Any) -> Any:
        """The outputs of all shards of this rank, concatenated."""
        named = dict(module.named_parameters())
        copies = {
            name: _Copies.apply(parameter, self._per_rank)
            if parameter.requires_grad
            else (parameter,) * self._per_rank
            for name, parameter in named.items()
        }
        shards = _cut((inputs, options), self._per_rank)
        results = []
        for local, (shard, given) in enumerate(shards):
            chosen = {name: every[local] for name, every in copies.items()}
            number = self._step * self._count + self._first + local
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed((self._seed + 1000003 * number) % (1 << 63))
                results.append(functional_call(module, chosen, shard, given))
        self._step += 1
        return _join(results)

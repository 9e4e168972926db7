"""Attention over a sequence whose chunks are on several processes (Liu et al., "Ring
attention with blockwise transformers for near-infinite context", 2023).

Every process has the queries of its chunks and attends to the keys and values of all.
Results over different keys are merged by their rows' log-sum-exps. Scores are computed
for a tile of queries at a time and not stored: backward recomputes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import pellucid as torch
import pellucid.distributed as dist
from pellucid.autograd import Function
from pellucid.autograd.function import once_differentiable

__all__ = ["Ring", "ring_attention"]

_TILE_ELEMENTS = 1 << 20  # of scores


class Ring(NamedTuple):
    """The processes, in order; the indices of each one's chunks; and whether keys and
    values are passed around, or gathered.
    """

    group: Any
    rank: int
    chunks: list[list[int]]
    rotates: bool

    @property
    def size(self) -> int:
        """The number of processes."""
        return len(self.chunks)


def ring_attention(
    ring: Ring,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """``scaled_dot_product_attention`` of this process's queries over all keys."""
    if attn_mask is not None or dropout_p:
        raise NotImplementedError(
            "attention under context_parallel takes no attn_mask and no dropout_p; "
            "is_causal=True masks later keys"
        )
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError(
            "attention under context_parallel takes tensors of (batch, heads, "
            f"sequence, features), not of {query.dim()} dims"
        )
    if is_causal and query.shape[2] != key.shape[2]:
        raise NotImplementedError(
            "is_causal requires the same query and context sequence lengths, not "
            f"{query.shape[2]} and {key.shape[2]}"
        )
    heads, groups = query.shape[1], key.shape[1]
    if heads % groups or not (enable_gqa or heads == groups):
        raise ValueError(
            f"{heads} heads of queries over {groups} of keys need enable_gqa=True, and "
            "a multiple"
        )
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return _Attention.apply(ring, is_causal, scale, query, key, value)


class _Attention(Function):
    @staticmethod
    def forward(
        ctx: Any, ring: Ring, is_causal: bool, scale: float, q: Any, k: Any, v: Any
    ) -> Any:
        tiles = _Tiles(ring, is_causal, scale, q, k.shape[1])
        out = tiles.empty(v.shape[-1]).zero_()
        lse = tiles.empty(1).fill_(-math.inf)
        for owner, keys, values in _visits(ring, k, v):
            for tile in tiles.over(owner, keys, values):
                tile.attend(out, lse)
        result = tiles.joined(out).to(q.dtype)
        ctx.ring, ctx.is_causal, ctx.scale = ring, is_causal, scale
        ctx.save_for_backward(q, k, v, result, lse)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        q, k, v, result, lse = ctx.saved_tensors
        ring = ctx.ring
        tiles = _Tiles(ring, ctx.is_causal, ctx.scale, q, k.shape[1])
        grad = tiles.split(grad)
        mean = (grad * tiles.split(result)).sum(-1, keepdim=True)
        grad_q = tiles.empty(q.shape[-1]).zero_()
        sums = _Sums(ring, tiles.dtype, k, v)
        for owner, keys, values in _visits(ring, k, v):
            for tile in tiles.over(owner, keys, values):
                tile.differentiate(grad, mean, lse, grad_q, *sums.of(owner))
            sums.pass_on()
        grad_k, grad_v = sums.own()
        grads = tiles.joined(grad_q), grad_k, grad_v
        return (None, None, None, *(g.to(q.dtype) for g in grads))


# Communication of keys and values, and of their gradients


def _visits(ring: Ring, k: Any, v: Any) -> Iterator[tuple[int, Any, Any]]:
    """Keys and values of each process with its index, this process's own first."""
    if not ring.rotates:
        keys, values = _gathered(ring, k), _gathered(ring, v)
        for step in range(ring.size):
            owner = (ring.rank - step) % ring.size
            yield owner, keys[owner], values[owner]
        return
    held = [k.contiguous(), v.contiguous()]
    for step in range(ring.size):
        is_last = step == ring.size - 1
        coming, works = ([], []) if is_last else _passing(ring, held)
        yield (ring.rank - step) % ring.size, *held
        for work in works:
            work.wait()
        held = coming


def _gathered(ring: Ring, x: Any) -> Any:
    whole = x.new_empty((ring.size, *x.shape))
    dist.all_gather_into_tensor(whole, x.contiguous(), ring.group)
    return whole


def _passing(ring: Ring, tensors: list[Any]) -> tuple[list[Any], list[Any]]:
    """Starts sending to the next process and receiving from the previous one."""
    after, before = (ring.rank + 1) % ring.size, (ring.rank - 1) % ring.size
    coming = [torch.empty_like(tensor) for tensor in tensors]
    works = []
    for tensor, received in zip(tensors, coming, strict=True):
        works.append(dist.isend(tensor, group=ring.group, group_dst=after))
        works.append(dist.irecv(received, group=ring.group, group_src=before))
    return coming, works


class _Sums:
    """Gradients of keys and values: those of all processes, to be reduced; or those of
    the current process, which travel around the ring.
    """

    def __init__(self, ring: Ring, dtype: Any, k: Any, v: Any) -> None:
        self._ring = ring
        count = 1 if ring.rotates else ring.size
        self._sums = [k.new_zeros((count, *x.shape), dtype=dtype) for x in (k, v)]

    def of(self, owner: int) -> list[Any]:
        """The gradients of a process, to accumulate into."""
        place = 0 if self._ring.rotates else owner
        return [sums[place] for sums in self._sums]

    def pass_on(self) -> None:
        """Passes the gradients on; after the last step they are at their owner."""
        if self._ring.rotates and self._ring.size > 1:
            self._sums, works = _passing(self._ring, self._sums)
            for work in works:
                work.wait()

    def own(self) -> list[Any]:
        """The gradients of this process's keys and values."""
        if self._ring.rotates:
            return [sums[0] for sums in self._sums]
        found = [torch.empty_like(sums[0]) for sums in self._sums]
        for target, sums in zip(found, self._sums, strict=True):
            dist.reduce_scatter_tensor(target, sums, group=self._ring.group)
        return found


# The local computation


class _Tiles:
    """This process's queries: (batch, groups, heads of a group, rows, features), where
    a group of heads shares keys. Half types are computed in float32.
    """

    def __init__(
        self, ring: Ring, is_causal: bool, scale: float, q: Any, groups: int
    ) -> None:
        self.dtype = q.dtype if q.dtype is torch.float64 else torch.float32
        self._ring, self._is_causal, self.scale = ring, is_causal, scale
        self._groups = groups
        self.queries = self.split(q)

    def split(self, x: Any) -> Any:
        """Splits heads into groups."""
        return x.to(self.dtype).unflatten(1, (self._groups, -1))

    def joined(self, x: Any) -> Any:
        """Merges groups of heads."""
        return x.flatten(1, 2)

    def empty(self, features: int) -> Any:
        """An empty tensor for results per query."""
        return self.queries.new_empty((*self.queries.shape[:-1], features))

    def over(self, owner: int, keys: Any, values: Any) -> Iterator[_Tile]:
        """Tiles that cover the unmasked scores of a process's keys."""
        own, theirs = self._ring.chunks[self._ring.rank], self._ring.chunks[owner]
        rows, columns = self.queries.shape[3] // len(own), keys.shape[2] // len(theirs)
        keys, values = keys.to(self.dtype), values.to(self.dtype)
        if not self._is_causal:
            yield from self._rows(0, len(own) * rows, slice(None), keys, values, None)
            return
        for i, chunk in enumerate(own):
            for j, other in enumerate(theirs):
                if other <= chunk:
                    place = slice(j * columns, (j + 1) * columns)
                    first = i * rows
                    diagonal = first if other == chunk else None
                    end = first + rows
                    yield from self._rows(first, end, place, keys, values, diagonal)

    def _rows(
        self, first: int, end: int, place: slice, k: Any, v: Any, diagonal: int | None
    ) -> Iterator[_Tile]:
        """``diagonal``: the row that attends to only the first key; the next to two,
        ...
        """
        heads = self.queries[:, :, :, 0, 0].numel()
        columns = k[:, :, place].shape[2]
        count = max(_TILE_ELEMENTS // max(heads * columns, 1), 16)
        for start in range(first, end, count):
            rows = slice(start, min(start + count, end))
            yield _Tile(self, rows, place, k, v, diagonal)


class _Tile(NamedTuple):
    """Some rows of queries, over some keys of one process."""

    tiles: _Tiles
    rows: slice
    place: slice  # of keys
    keys: Any
    values: Any
    diagonal: int | None

    def _flat(self, x: Any) -> Any:
        """A tile of a tensor over queries, with the heads of a group stacked."""
        return x[:, :, :, self.rows].flatten(2, 3)

    def _apart(self, x: Any) -> Any:
        return x.unflatten(2, (self.tiles.queries.shape[2], -1))

    def _scores(self, queries: Any) -> Any:
        keys = self.keys[:, :, self.place]
        scores = torch.matmul(queries, keys.transpose(-1, -2))
        if self.diagonal is None:
            return scores
        ahead = torch.ones(
            self.rows.stop - self.rows.start, keys.shape[2], dtype=torch.bool
        ).triu(self.rows.start - self.diagonal + 1)
        return self._apart(scores).masked_fill_(ahead, -math.inf).flatten(2, 3)

    def attend(self, out: Any, lse: Any) -> None:
        """Merges the result over these keys into the results over others."""
        scores = self._scores(self._flat(self.tiles.queries) * self.tiles.scale)
        top = scores.amax(-1, keepdim=True)
        weights = scores.sub_(top).exp_()
        total = weights.sum(-1, keepdim=True)
        found = torch.matmul(weights, self.values[:, :, self.place]) / total
        found, new = self._apart(found), self._apart(total.log() + top)
        out, lse = out[:, :, :, self.rows], lse[:, :, :, self.rows]
        joined = torch.logaddexp(lse, new)
        out.mul_((lse - joined).exp()).add_(found * (new - joined).exp())
        lse.copy_(joined)

    def differentiate(
        self, grad: Any, mean: Any, lse: Any, grad_q: Any, grad_k: Any, grad_v: Any
    ) -> None:
        """Adds the gradients of these queries, keys and values. ``mean``: of the
        gradients of a row's weights.
        """
        scale, grad = self.tiles.scale, self._flat(grad)
        queries = self._flat(self.tiles.queries) * scale
        weights = self._scores(queries).sub_(self._flat(lse)).exp_()
        keys, values = self.keys[:, :, self.place], self.values[:, :, self.place]
        grad_v[:, :, self.place] += torch.matmul(weights.transpose(-1, -2), grad)
        along = torch.matmul(grad, values.transpose(-1, -2)).sub_(self._flat(mean))
        weights.mul_(along)
        found = torch.matmul(weights, keys) * scale
        grad_q[:, :, :, self.rows] += self._apart(found)
        grad_k[:, :, self.place] += torch.matmul(weights.transpose(-1, -2), queries)

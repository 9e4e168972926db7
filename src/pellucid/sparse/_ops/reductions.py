"""Rules of sums and softmax: over sparse dims, elements with equal keys are
combined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.conversions import convert
from pellucid.sparse._ops.parts import COO, Parts, coo, split
from pellucid.sparse._ops.patterns import (
    coalesced,
    coalesced_pair,
    grouped,
    sum_groups,
)
from pellucid.sparse._ops.rules import RULES
from pellucid.sparse._ops.shapes import wrap

rule = RULES.because("only stored elements are combined, in groups of equal keys")


def _wrapped(dim: Any, count: int) -> list[int]:
    given = [dim] if isinstance(dim, int) else list(dim or range(count))
    found = sorted({wrap(d, count) for d in given})
    if len(found) != len(given):
        raise RuntimeError(f"a dim appears twice among the dims to sum: {given}")
    return found


@rule("sum")
def sum_(
    self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The sum over ``dim``: sparse if a sparse dim remains."""
    dims = _wrapped(dim, self.dim())
    if self.layout is not COO:
        return _sum_compressed(self, dims, keepdim, dtype)
    parts = split(self)
    dense = [d - parts.sparse_dims + 1 for d in dims if d >= parts.sparse_dims]
    gone = [d for d in dims if d < parts.sparse_dims]
    values = parts.values
    if dtype is not None or dense:
        values = values.sum(dense, keepdim, dtype=dtype) if dense else values.to(dtype)
    if len(gone) == parts.sparse_dims:
        total = values.sum(0)
        return total.reshape(_size(parts, dims, True)) if keepdim else total
    remaining = [d for d in range(parts.sparse_dims) if d not in gone]
    if not values.is_floating_point() and not values.is_complex() and gone:
        values = values.to(dtype or pellucid.int64)
    size = _size(parts, dims, keepdim)
    if not gone:
        return coo(parts.indices, values, size, parts.is_coalesced)
    return _over_sparse(parts, remaining, values, size, keepdim)


def _size(parts: Parts, dims: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(parts.size))
    return tuple(n for d, n in enumerate(parts.size) if d not in dims)


def _over_sparse(
    parts: Parts,
    remaining: list[int],
    values: Tensor,
    size: tuple[int, ...],
    keepdim: bool,
) -> Tensor:
    sizes = [parts.size[d] for d in remaining]
    indices, summed = coalesced_pair(parts.indices[remaining], values, sizes)
    if keepdim:
        indices = _with_zeros(indices, remaining, parts.sparse_dims)
    return coo(indices, summed, size, True)


def _with_zeros(indices: Tensor, remaining: list[int], dims: int) -> Tensor:
    """The indices of the remaining dims, and 0 in the reduced ones."""
    whole = indices.new_zeros((dims, indices.shape[1]))
    whole[remaining] = indices
    return whole


def _sum_compressed(self: Tensor, dims: list[int], keepdim: bool, dtype: Any) -> Tensor:
    if len(dims) == self.dim():
        total = split(self).values.sum(dtype=dtype)
        return total.reshape([1] * self.dim()) if keepdim else total
    if not keepdim:
        raise RuntimeError(
            "reduction operations on CSR tensors with keepdim=False is unsupported"
        )
    made = sum_(convert(self, COO), dims, True, dtype=dtype)
    return convert(made, self.layout)


@rule("mean")
def mean(
    self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The mean, with absent elements as 0."""
    count = 1
    for d in _wrapped(dim, self.dim()):
        count *= self.shape[d]
    return sum_(self, dim, keepdim, dtype=dtype) / count


@rule("norm", "linalg_vector_norm")
def norm(
    self: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any
) -> Any:
    """A norm of all elements."""
    if dim:
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must "
            "either be "
            "empty or contain all dimensions of the input"
        )
    values = split(coalesced(self) if self.layout is COO else self).values
    return pellucid.linalg.vector_norm(values, 2 if p is None else p)


def reduce_stored(self: Tensor, dims: list[int], keepdim: bool, name: str) -> Tensor:
    """The sum, product, maximum or minimum over dims of the stored elements alone: the
    result stores an element where any is stored.
    """
    if self.layout is not COO:
        if not keepdim:
            raise RuntimeError(
                "reduction operations on CSR tensors with keepdim=False is unsupported"
            )
        made = reduce_stored(convert(self, COO), dims, True, name)
        return convert(made, self.layout)
    parts = split(coalesced(self))
    values = parts.values
    for d in reversed([d for d in dims if d >= parts.sparse_dims]):
        values = getattr(values, name)(d - parts.sparse_dims + 1, keepdim=keepdim)
    remaining = [d for d in range(parts.sparse_dims) if d not in dims]
    sizes = [parts.size[d] for d in remaining]
    groups = grouped(parts.indices[remaining], sizes)
    ordered = values.index_select(0, groups.order)
    combined = _combine_groups(ordered, groups.numbers, groups.total, name)
    indices = groups.indices
    if keepdim:
        indices = _with_zeros(indices, remaining, parts.sparse_dims)
    return coo(indices, combined, _size(parts, dims, keepdim), True)


def _combine_groups(values: Tensor, groups: Tensor, count: int, name: str) -> Tensor:
    """The reduction of the values of each group, which is not empty."""
    if name == "sum":
        return sum_groups(values, groups, count)
    places = groups.reshape(-1, *[1] * (values.dim() - 1)).expand(values.shape)
    made = values.new_zeros((count, *values.shape[1:]))
    return made.scatter_reduce(0, places, values, name, include_self=False)


def _softmax(self: Tensor, dim: int, *, is_log: bool, dtype: Any) -> Tensor:
    if self.layout is not COO:
        made = _softmax(convert(self, COO), dim, is_log=is_log, dtype=dtype)
        return convert(made, self.layout)
    parts = split(coalesced(self))
    dim = wrap(dim, self.dim())
    values = parts.values if dtype is None else parts.values.to(dtype)
    name = "log_softmax" if is_log else "softmax"
    if dim >= parts.sparse_dims:
        place = dim - parts.sparse_dims + 1
        return parts.with_values(getattr(values, name)(place))
    rest = [d for d in range(parts.sparse_dims) if d != dim]
    groups = grouped(parts.indices[rest], [parts.size[d] for d in rest])
    made = _group_softmax(values, groups.of_elements(), groups.total, is_log)
    return parts.with_values(made)


def _group_softmax(values: Tensor, groups: Tensor, count: int, is_log: bool) -> Tensor:
    """Softmax among the values of each group; absent elements are -infinity."""
    highest = _combine_groups(values.detach(), groups, count, "amax")
    shifted = values - highest[groups]
    powers = shifted.exp()
    totals = sum_groups(powers, groups, count)
    if is_log:
        return shifted - totals.log()[groups]
    return powers / totals[groups]


@rule("softmax")
def softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Softmax along a dim over the stored elements."""
    return _softmax(self, dim, is_log=False, dtype=dtype)


@rule("log_softmax")
def log_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of ``softmax``."""
    return _softmax(self, dim, is_log=True, dtype=dtype)


@rule("any")
def any_(self: Tensor, *dims: Any, **options: Any) -> Any:
    """Whether any element is true; refused along dims."""
    if dims or options:
        return NotImplemented
    return split(coalesced(self) if self.layout is COO else self).values.any()

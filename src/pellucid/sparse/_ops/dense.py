"""Conversions to and from dense tensors; gathers elements at a pattern."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.sparse._ops.conversions import as_grid, block_of, check_blocks, from_grid
from pellucid.sparse._ops.parts import (
    BLOCK_LAYOUTS,
    Parts,
    coo,
    gradient_rules,
    is_sparse,
    same_structure,
    split,
)
from pellucid.sparse._ops.patterns import (
    coalesced,
    coalesced_pair,
    find,
    keys_of,
    product_of,
    sum_groups,
    take_where,
)


def to_dense(tensor: Tensor) -> Tensor:
    """The dense tensor: 0 at positions that are not stored; duplicates are summed."""
    parts = split(tensor)
    grid = as_grid(tensor)
    keys = keys_of(grid.indices, grid.sparse_size)
    flat = sum_groups(grid.values, keys, product_of(grid.sparse_size))
    whole = flat.reshape(grid.size)
    if parts.layout not in BLOCK_LAYOUTS:
        return whole
    return whole.movedim(grid.sparse_dims, grid.sparse_dims - 1).reshape(parts.size)


def gather_dense(dense: Tensor, pattern: Parts) -> Tensor:
    """The elements of a dense tensor of the pattern's size at the pattern."""
    grid = as_grid(pattern.with_values(pattern.values.detach()))
    if pattern.layout in BLOCK_LAYOUTS:
        (rows, columns), batch = block_of(pattern), grid.sparse_dims - 2
        outer = grid.sparse_size[batch:]
        dense = dense.unflatten(batch, (outer[0], rows))
        dense = dense.unflatten(batch + 2, (outer[1], columns))
        dense = dense.movedim(batch + 1, batch + 2)
    found = dense[tuple(grid.indices)]
    return found.reshape(pattern.values.shape)


def dense_to_coo(dense: Tensor, sparse_dims: int) -> Tensor:
    """The nonzero elements as COO; for hybrids, slices with a nonzero element."""
    flags = dense.detach() != 0
    if sparse_dims < dense.dim():
        flags = flags.flatten(sparse_dims).any(-1)
    indices = flags.nonzero().t().contiguous()
    values = dense[tuple(indices)] if sparse_dims else dense.unsqueeze(0)
    if not sparse_dims:
        indices = indices.new_zeros((0, 1))
    return coo(indices, values, tuple(dense.shape), True)


def dense_to_compressed(
    dense: Tensor, layout: Any, block: Any = None, dense_dims: int | None = None
) -> Tensor:
    """The nonzero elements in a compressed layout; whole blocks with a nonzero
    element.
    """
    dense_dims = dense_dims or 0
    batch = dense.dim() - 2 - dense_dims
    if batch < 0:
        raise RuntimeError(
            f"to_sparse: a tensor with {dense.dim()} dims, {dense_dims} of them dense, "
            f"has no rows and columns for the layout {layout}"
        )
    if layout in BLOCK_LAYOUTS:
        if block is None:
            raise RuntimeError(f"to_sparse: the layout {layout} needs a blocksize")
        check_blocks(tuple(dense.shape), batch, tuple(block), layout)
        rows, columns = block
        whole = dense.unflatten(batch, (-1, rows)).unflatten(batch + 2, (-1, columns))
        grid_values = whole.movedim(batch + 1, batch + 2)
    else:
        if block is not None:
            raise RuntimeError(
                f"to_sparse: conversion to {layout} takes no blocksize, and "
                f"{tuple(block)} was given"
            )
        grid_values = dense
    grid = split(dense_to_coo(grid_values, batch + 2))
    return from_grid(grid, layout, tuple(dense.shape))


def values_at(tensor: Tensor, pattern: Parts) -> Tensor:
    """The elements of a tensor of the pattern's size at the pattern, with the shape of
    its values; 0 for positions that a sparse tensor does not store.
    """
    if not is_sparse(tensor):
        return gather_dense(tensor, pattern)
    parts = split(tensor)
    if same_structure(parts, pattern):
        return parts.values
    source = as_grid(tensor)
    target = as_grid(pattern.with_values(pattern.values.detach()))
    if source.sparse_size != target.sparse_size:
        raise RuntimeError(
            f"expected a sparse tensor with sparse dims of the sizes "
            f"{target.sparse_size}, not {source.sparse_size}"
        )
    indices, values = source.indices, source.values
    if not source.is_coalesced:
        indices, values = coalesced_pair(indices, values, source.sparse_size)
    wanted = keys_of(target.indices, target.sparse_size)
    places, is_there = find(wanted, keys_of(indices, source.sparse_size))
    return take_where(values, places, is_there).reshape(pattern.values.shape)


def _gradient_at(grad: Tensor, pattern: Parts) -> Tensor:
    """The gradient of a tensor's values from the gradient of the tensor."""
    return values_at(coalesced(grad) if is_sparse(grad) else grad, pattern)


gradient_rules["at the pattern"] = _gradient_at

"""What ops about a tensor's layout compute: ``coalesce``, ``indices``, ``to_sparse``.

The bodies of the declared ops call it (``pellucid_compiler/composites/sparse_*.py``).
Errors name the layout as PyTorch does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pellucid
from pellucid import _C, Tensor
from pellucid._package.calls import offered
from pellucid.sparse._ops import conversions, copies, dense, invariants, patterns
from pellucid.sparse._ops.parts import (
    BLOCK_LAYOUTS,
    COO,
    LAYOUT_NAMES,
    ROW_LAYOUTS,
    is_sparse,
    join,
    split,
)


def _expected(name: str, kind: str, tensor: Tensor) -> RuntimeError:
    found = LAYOUT_NAMES.get(tensor.layout, str(tensor.layout))
    return RuntimeError(f"{name} expected {kind} tensor layout but got {found}")


def require_coo(name: str, tensor: Tensor) -> None:
    """RuntimeError for a tensor of another layout."""
    if not tensor.is_sparse:
        raise _expected(name, "sparse coordinate", tensor)


def coalesce(self: Tensor) -> Tensor:
    """A COO tensor with sorted, distinct indices; duplicates are summed."""
    require_coo("coalesce", self)
    return patterns.coalesced(self)


def is_coalesced(self: Tensor) -> bool:
    """Whether a COO tensor is known to have sorted, distinct indices."""
    require_coo("is_coalesced", self)
    return bool(_C._sparse_kind(self)[1])


def set_coalesced(self: Tensor, coalesced: bool) -> Tensor:
    """Says of a COO tensor whether its indices are sorted and distinct."""
    require_coo("_coalesced_", self)
    return cast(Tensor, _C._set_coalesced(self, coalesced))


def _not_offered(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: it "
        "needs a "
        "sparse tensor, and this one is strided"
    )


def stored_indices(self: Tensor) -> Tensor:
    """The indices of a COO tensor as they are stored: (sparse dims, elements)."""
    if not self.is_sparse:
        raise _not_offered("_indices")
    return cast(Tensor, _C._sparse_kind(self)[2][0].detach())


def stored_values(self: Tensor) -> Tensor:
    """The values of a COO tensor as they are stored, without history."""
    if not self.is_sparse:
        raise _not_offered("_values")
    return cast(Tensor, _C._sparse_kind(self)[2][1].detach())


def _require_coalesced(name: str, tensor: Tensor) -> None:
    if not _C._sparse_kind(tensor)[1]:
        raise RuntimeError(
            f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        )


def indices(self: Tensor) -> Tensor:
    """The indices of a coalesced COO tensor: (sparse dims, elements)."""
    require_coo("indices", self)
    _require_coalesced("indices", self)
    return stored_indices(self)


def values(self: Tensor) -> Tensor:
    """The values of a sparse tensor; gradients pass to it."""
    if not is_sparse(self):
        raise _expected("values", "sparse", self)
    if self.is_sparse:
        _require_coalesced("values", self)
    found = split(self).values
    return found if found.requires_grad else found.detach()


def nnz(self: Tensor) -> int:
    """The number of stored elements (of blocks), per example of a batch."""
    if not is_sparse(self):
        raise _not_offered("_nnz")
    return int(_C._sparse_kind(self)[2][-2].shape[-1])


def _structure(name: str, by_rows: bool, place: int) -> Callable[[Tensor], Tensor]:
    kind = f"sparse {'row' if by_rows else 'column'} compressed"

    def read(self: Tensor) -> Tensor:
        compressed = is_sparse(self) and not self.is_sparse
        if not compressed or (self.layout in ROW_LAYOUTS) is not by_rows:
            raise _expected(name, kind, self)
        return cast(Tensor, _C._sparse_kind(self)[2][place].detach())

    read.__name__ = read.__qualname__ = name
    read.__doc__ = f"The {name} of a tensor of a {kind} layout."
    return read


crow_indices = _structure("crow_indices", True, 0)
col_indices = _structure("col_indices", True, 1)
ccol_indices = _structure("ccol_indices", False, 0)
row_indices = _structure("row_indices", False, 1)


def sparse_dim(self: Tensor) -> int:
    """The number of sparse dims; 0 if the tensor is strided."""
    return int(_C._sparse_kind(self)[0]) if is_sparse(self) else 0


def dense_dim(self: Tensor) -> int:
    """The number of dense dims; all if the tensor is strided."""
    if not is_sparse(self):
        return self.dim()
    if self.is_sparse:
        return self.dim() - sparse_dim(self)
    batch = _C._sparse_kind(self)[2][0].dim() - 1
    return self.dim() - 2 - int(batch)


def to_dense(self: Tensor, dtype: Any, masked_grad: bool | None) -> Tensor:
    """A strided tensor of all elements of a sparse one."""
    if masked_grad is False and self.requires_grad:
        raise NotImplementedError(
            "to_dense(masked_grad=False): the gradient of a sparse tensor has the "
            "pattern "
            "of the tensor; compute with a dense leaf to get all of it"
        )
    made = dense.to_dense(self)
    return made if dtype is None else made.to(dtype)


def to_sparse(self: Tensor, layout: Any, blocksize: Any, dense_dim: Any) -> Tensor:
    """A sparse tensor, of the layout COO if it is None."""
    if layout is None or layout is COO:
        return to_coo(self, None, blocksize, dense_dim)
    if layout is pellucid.strided:
        raise RuntimeError("to_sparse: strided is not a sparse layout; use to_dense()")
    return to_compressed(self, layout, blocksize, dense_dim)


def to_coo(
    self: Tensor, dims: int | None, blocksize: Any = None, dense_dims: Any = None
) -> Tensor:
    """A COO tensor, with so many sparse dims if ``dims`` is given."""
    if blocksize is not None:
        raise RuntimeError("to_sparse: conversion to Sparse takes no blocksize")
    if is_sparse(self):
        if dims is not None and dims != sparse_dim(self):
            raise RuntimeError(
                f"to_sparse: conversion from {LAYOUT_NAMES[self.layout]} to Sparse "
                "with "
                f"sparse_dim argument != {sparse_dim(self)} is not supported"
            )
        return conversions.convert(self, COO)
    if dims is None:
        dims = self.dim() - (dense_dims or 0)
    if not (0 < dims <= self.dim() or dims == self.dim() == 0):
        raise RuntimeError(
            f"sparse_dim argument must be in >0 when self.dim() > 0 and at most "
            f"{self.dim()}, the dims of the tensor; it is {dims}"
        )
    return dense.dense_to_coo(self, dims)


def to_compressed(self: Tensor, layout: Any, blocksize: Any, dense_dims: Any) -> Tensor:
    """A tensor of a compressed layout."""
    if isinstance(blocksize, int):
        blocksize = (blocksize, blocksize)
    if not is_sparse(self):
        return dense.dense_to_compressed(self, layout, blocksize, dense_dims)
    if layout in BLOCK_LAYOUTS:
        parts = split(self.detach())
        if blocksize is None and parts.layout not in BLOCK_LAYOUTS:
            raise RuntimeError(f"to_sparse: the layout {layout} needs a blocksize")
    return conversions.convert(self, layout, blocksize)


@offered.method
def to_sparse_coo(self: Tensor) -> Tensor:
    """In the layout sparse_coo."""
    return self.to_sparse()


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of this tensor at the pattern of the sparse tensor ``mask``."""
    if self.is_nested or not is_sparse(mask):
        raise _not_offered("sparse_mask")
    return copies.sparse_mask(self, mask)


def resized(
    self: Tensor, size: Any, sparse_dim: int, dense_dim: int, is_cleared: bool
) -> Tensor:
    """Other sizes in place: all elements, or none if ``is_cleared``."""
    require_coo("sparse_resize_", self)
    sizes = tuple(size)
    invariants.require(
        len(sizes) == sparse_dim + dense_dim,
        "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
        f"{len(sizes)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}",
    )
    parts = split(self.detach())
    if is_cleared or not parts.nnz:
        index = parts.indices.new_zeros((sparse_dim, 0))
        value = parts.values.new_zeros((0, *sizes[sparse_dim:]))
        made = parts._replace(is_coalesced=True)
    else:
        invariants.require(
            sparse_dim == parts.sparse_dims,
            f"changing the number of sparse dimensions (from {parts.sparse_dims} to "
            f"{sparse_dim}) on a non-empty sparse tensor is not supported.",
        )
        grown = all(n >= m for n, m in zip(sizes, parts.size, strict=False))
        invariants.require(
            grown and len(sizes) == len(parts.size),
            "shrinking the size of dimensions on a non-empty sparse tensor is not "
            f"supported: it has {list(parts.size)}, and {list(sizes)} was given",
        )
        index, value, made = parts.indices, parts.values, parts
        if sizes[sparse_dim:] != parts.dense_size:
            value = parts.values.new_zeros((parts.nnz, *sizes[sparse_dim:]))
            value[tuple(slice(n) for n in parts.values.shape)] = parts.values
    whole = made._replace(
        size=sizes, sparse_dims=sparse_dim, structure=(index,), values=value
    )
    return cast(Tensor, _C._replace_components(self, join(whole)))


def resize_as(self: Tensor, template: Tensor) -> Tensor:
    """The sizes and the sparse dims of another tensor, in place."""
    require_coo("resize_as_sparse_", template)
    dims = sparse_dim(template), dense_dim(template)
    return resized(self, template.shape, *dims, False)


# ``mm`` of a sparse matrix, under its former names.
spmm = dsmm = offered.function(pellucid.mm)

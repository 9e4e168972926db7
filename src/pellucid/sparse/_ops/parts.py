"""Splits a sparse tensor into its components, and rebuilds it.

Two autograd functions connect both: ``_Values`` returns the values of a sparse tensor,
whose gradient is a coalesced sparse tensor of the same pattern; ``_WithValues`` makes a
sparse tensor whose gradient is gathered at its pattern. Values are processed by
ordinary ops, so a gradient never has more elements than its tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import pellucid
from pellucid import _C, Tensor
from pellucid.autograd import Function

COO, CSR = pellucid.sparse_coo, pellucid.sparse_csr
ROW_LAYOUTS = (pellucid.sparse_csr, pellucid.sparse_bsr)
_DENSE = (pellucid.strided, pellucid.jagged)
BLOCK_LAYOUTS = (pellucid.sparse_bsr, pellucid.sparse_bsc)

# The layouts as PyTorch's errors name them.
LAYOUT_NAMES = {
    pellucid.strided: "Strided",
    COO: "Sparse",
    pellucid.sparse_csr: "SparseCsr",
    pellucid.sparse_csc: "SparseCsc",
    pellucid.sparse_bsr: "SparseBsr",
    pellucid.sparse_bsc: "SparseBsc",
}


class Parts(NamedTuple):
    """``structure``: the indices of COO, or pointers and plain indices."""

    layout: Any
    size: tuple[int, ...]
    sparse_dims: int
    is_coalesced: bool
    structure: tuple[Tensor, ...]
    values: Tensor

    @property
    def indices(self) -> Tensor:
        """The indices of COO: (sparse dims, elements)."""
        return self.structure[0]

    @property
    def nnz(self) -> int:
        """The number of stored elements, each a tensor of the dense dims."""
        return int(self.structure[-1].shape[-1])

    @property
    def sparse_size(self) -> tuple[int, ...]:
        return self.size[: self.sparse_dims]

    @property
    def dense_size(self) -> tuple[int, ...]:
        return self.size[self.sparse_dims :]

    def with_values(self, values: Tensor) -> Tensor:
        """A tensor of this pattern with other values."""
        return join(self._replace(values=values))


def is_sparse(value: Any) -> bool:
    """Whether it is a tensor of any sparse layout."""
    return isinstance(value, Tensor) and value.layout not in _DENSE


def split(tensor: Tensor) -> Parts:
    """The components of a sparse tensor; gradients of the values pass to it."""
    sparse_dims, is_coalesced, components = _C._sparse_kind(tensor)
    values = components[-1]
    if tensor.requires_grad and pellucid.is_grad_enabled():
        values = _Values.apply(tensor)
    return Parts(
        tensor.layout,
        tuple(tensor.shape),
        sparse_dims,
        is_coalesced,
        components[:-1],
        values,
    )


def join(parts: Parts) -> Tensor:
    """The sparse tensor of these components, which must be consistent."""
    if parts.values.requires_grad and pellucid.is_grad_enabled():
        return cast(Tensor, _WithValues.apply(parts.values, parts))
    return _make(parts, parts.values)


def coo(
    indices: Tensor, values: Tensor, size: tuple[int, ...], is_coalesced: bool
) -> Tensor:
    """A COO tensor of consistent components; less than two elements are coalesced."""
    sparse_dims = indices.shape[0]
    is_coalesced = is_coalesced or indices.shape[1] < 2
    return join(Parts(COO, tuple(size), sparse_dims, is_coalesced, (indices,), values))


def same_structure(first: Parts, second: Parts) -> bool:
    """Whether both share memory: equal patterns may be in different memory."""
    return first.structure is second.structure or (
        first.layout is second.layout
        and first.size == second.size
        and len(first.structure) == len(second.structure)
        and all(map(_same, first.structure, second.structure))
    )


def _same(first: Tensor, second: Tensor) -> bool:
    facts = ((t.data_ptr(), t.shape, t.stride()) for t in (first, second))
    return next(facts) == next(facts)


def _make(parts: Parts, values: Tensor) -> Tensor:
    made = _C._make_sparse(
        parts.layout,
        parts.size,
        parts.sparse_dims,
        parts.is_coalesced,
        (*parts.structure, values),
    )
    return cast(Tensor, made)


# Functions of patterns for gradients, registered by ``patterns.py`` and ``dense.py``,
# which import this module.
gradient_rules: dict[str, Callable[..., Tensor]] = {}


class _Values(Function):
    """The values of a sparse tensor."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        ctx.parts = split(tensor)
        return cast(Tensor, ctx.parts.values.detach())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        parts: Parts = ctx.parts
        return gradient_rules["with each position once"](parts._replace(values=grad))


class _WithValues(Function):
    """The sparse tensor of given values."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, parts: Parts) -> Tensor:
        ctx.parts = parts._replace(values=values.detach())
        return _make(parts, values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return gradient_rules["at the pattern"](grad, ctx.parts), None

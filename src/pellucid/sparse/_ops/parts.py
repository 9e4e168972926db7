"""A sparse tensor as its parts, and back.

Two autograd functions join both sides: ``_Values`` gives the values of a sparse tensor,
with a sparse gradient of the same pattern that has each position once; ``_WithValues``
makes a sparse tensor whose gradient is read at its pattern. All else that happens to
values is ordinary ops, so a gradient never has more elements than its tensor.
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


class Parts(NamedTuple):
    """``structure``: of COO the indices, of others pointers and plain indices."""

    layout: Any
    size: tuple[int, ...]
    sparse_dims: int
    is_coalesced: bool
    structure: tuple[Tensor, ...]
    values: Tensor

    @property
    def indices(self) -> Tensor:
        """Of COO: (sparse dims, elements)."""
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
    """The parts of a sparse tensor; gradients of the values are gradients of it."""
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
    """The sparse tensor of these parts, which fit each other."""
    if parts.values.requires_grad and pellucid.is_grad_enabled():
        return cast(Tensor, _WithValues.apply(parts.values, parts))
    return _make(parts, parts.values)


def coo(
    indices: Tensor, values: Tensor, size: tuple[int, ...], is_coalesced: bool
) -> Tensor:
    """A COO tensor of parts that fit each other."""
    sparse_dims = indices.shape[0]
    return join(Parts(COO, tuple(size), sparse_dims, is_coalesced, (indices,), values))


def same_structure(first: Parts, second: Parts) -> bool:
    """Whether both are the same memory: equal patterns may be in different memory."""
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


# What gradients need of patterns: ``patterns.py`` and ``dense.py``, which are built on
# this module, enter it.
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

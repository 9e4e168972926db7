"""``torch.sparse``: functions on sparse tensors. See docs/sparse.md."""

from __future__ import annotations

import functools
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.sparse._ops import invariants, products, reductions
from pellucid.sparse._ops.construct import sparse_coo_tensor
from pellucid.sparse._ops.parts import is_sparse, split
from pellucid.sparse.semi_structured import (
    SparseSemiStructuredTensor,
    SparseSemiStructuredTensorCUSPARSELT,
    SparseSemiStructuredTensorCUTLASS,
    to_sparse_semi_structured,
)

__all__ = [
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
    "to_sparse_semi_structured",
]

sampled_addmm = _C._sparse.sampled_addmm
_REDUCTIONS = ("amax", "amin", "mean")


def _require(name: str, tensor: Tensor) -> None:
    if not is_sparse(tensor):
        raise RuntimeError(
            f"torch.sparse.{name} expects a sparse tensor, not a strided one"
        )


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of matrices, one of them sparse; sparse if both are.

    Gradients of a sparse operand have its pattern. With ``reduce`` "mean", "amax" or
    "amin" the terms of each element are combined so, for a CSR ``mat1`` and a dense
    ``mat2``.

        >>> a = torch.eye(2).to_sparse()
        >>> torch.sparse.mm(a, torch.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    if not (is_sparse(mat1) or is_sparse(mat2)):
        raise RuntimeError("torch.sparse.mm expects at least one sparse matrix")
    if reduce == "sum":
        return pellucid.mm(mat1, mat2)
    if reduce not in _REDUCTIONS:
        raise ValueError(f"reduce is one of {('sum', *_REDUCTIONS)}, not {reduce!r}")
    return products.reduced_mm(mat1, mat2, reduce)


def addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)``, where ``mat1`` is sparse."""
    _require("addmm", mat1)
    return pellucid.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum over ``dim``: sparse if a sparse dim remains, else dense."""
    _require("sum", input)
    return reductions.sum_(input, dim, dtype=dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along ``dim`` over the stored elements; others are -infinity."""
    _require("softmax", input)
    return reductions.softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of ``softmax``."""
    _require("log_softmax", input)
    return reductions.log_softmax(input, dim, dtype)


def spdiags(
    diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None
) -> Tensor:
    """A matrix whose diagonals at ``offsets`` are the rows of ``diagonals``.

    Element j of a row is in column j; offset 0 is the main diagonal, 1 the one above.
    """
    diagonals = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    offsets = offsets.reshape(-1)
    if len(offsets) != len(diagonals):
        raise RuntimeError(
            "Number of diagonals (row count of diagonals input) does not match the "
            "number "
            f"of specified offsets: {len(diagonals)} and {len(offsets)}"
        )
    if len(offsets.unique()) != len(offsets):
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns = shape
    column = pellucid.arange(min(diagonals.shape[1], columns)).expand(len(offsets), -1)
    row = column - offsets.unsqueeze(1)
    is_inside = (row >= 0) & (row < rows)
    index = pellucid.stack([row[is_inside], column[is_inside]])
    made = sparse_coo_tensor(index, diagonals[:, : column.shape[1]][is_inside], shape)
    made = made.coalesce() if layout is not None else made
    return made if layout is None else made.to_sparse(layout=layout)


class check_sparse_tensor_invariants:
    """Enables checks of indices in constructors: a context manager, and a switch.

    It is the default of the constructors' ``check_invariants``.
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether checks are enabled."""
        return invariants.is_checked()

    @staticmethod
    def enable() -> None:
        """Enables checks."""
        invariants.set_checked(True)

    @staticmethod
    def disable() -> None:
        """Disables checks."""
        invariants.set_checked(False)

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different "
                "context manager instance for context nesting."
            )
        self.saved_state = self.is_enabled()
        invariants.set_checked(self.state)

    def __exit__(self, *raised: Any) -> None:
        assert self.saved_state is not None
        invariants.set_checked(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """``gradcheck`` of functions of sparse tensors, at the values of their patterns."""

    @functools.wraps(gradcheck)
    def check(function: Any, inputs: Any, **options: Any) -> Any:
        options.pop("masked", None)
        given = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        patterns = [x.detach() if is_sparse(x) else None for x in given]
        values = [_free(x) for x in given]

        def of_values(*parts: Any) -> Any:
            rebuilt = [
                part if pattern is None else _filled(pattern, part)
                for pattern, part in zip(patterns, parts, strict=True)
            ]
            found = function(*rebuilt)
            return found.to_dense() if is_sparse(found) else found

        return gradcheck(of_values, tuple(values), **options)

    return check


def _free(value: Any) -> Any:
    if not is_sparse(value):
        return value
    found = split(value.detach()).values.clone()
    return found.requires_grad_(value.requires_grad)


def _filled(pattern: Tensor, values: Tensor) -> Tensor:
    return split(pattern).with_values(values)


def __getattr__(name: str) -> Any:
    """``FloatTensor`` and the other legacy types."""
    from pellucid.sparse._legacy_types import TYPES

    if name in TYPES:
        return TYPES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

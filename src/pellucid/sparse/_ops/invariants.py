"""Checks the components of sparse tensors, with PyTorch's errors.

Shapes and dtypes are always checked; index values only with ``check_invariants`` or if
``torch.sparse.check_sparse_tensor_invariants`` is enabled. Ops check the bounds of
every access in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.parts import BLOCK_LAYOUTS, ROW_LAYOUTS
from pellucid.sparse._ops.patterns import keys_of, row_numbers

_state = [False]


def is_checked() -> bool:
    """Whether constructors check where indices point."""
    return _state[0]


def set_checked(wanted: bool) -> None:
    """Whether constructors check from now on."""
    _state[0] = wanted


@contextmanager
def checked(given: bool | None) -> Iterator[None]:
    """What ``check_invariants=given`` means; None leaves it as it is."""
    before = _state[0]
    _state[0] = before if given is None else given
    try:
        yield
    finally:
        _state[0] = before


def require(condition: Any, message: str) -> None:
    """Raises RuntimeError unless the condition holds."""
    if not condition:
        raise RuntimeError(message)


def check_coo_shapes(indices: Tensor, values: Tensor, size: tuple[int, ...]) -> None:
    """Checks the ranks and sizes of a COO tensor's components."""
    require(
        indices.dim() == 2,
        f"indices must be sparse_dim x nnz, but got: {tuple(indices.shape)}",
    )
    require(
        indices.shape[1] == values.shape[0],
        "indices and values must have same nnz, but got nnz from indices: "
        f"{indices.shape[1]}, nnz from values: {values.shape[0]}",
    )
    sparse_dims, dense_dims = indices.shape[0], values.dim() - 1
    require(
        len(size) == sparse_dims + dense_dims,
        "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
        f"{len(size)}, sparse_dim = {sparse_dims}, dense_dim = {dense_dims}",
    )
    require(
        min(size, default=0) >= 0,
        f"a sparse tensor has no negative sizes; {tuple(size)} was given",
    )
    expected = [values.shape[0], *size[sparse_dims:]]
    require(
        expected == list(values.shape),
        f"values has incorrect size, expected {expected}, got {list(values.shape)}",
    )


def check_coo_indices(indices: Tensor, size: tuple[int, ...]) -> None:
    """Checks that every index is within its dim."""
    if not indices.numel():
        return
    lowest, highest = indices.amin(1).tolist(), indices.amax(1).tolist()
    for dim, (low, high) in enumerate(zip(lowest, highest, strict=True)):
        require(low >= 0, f"found negative index {low} for dim {dim}")
        require(
            high < size[dim],
            f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} "
            "but "
            f"found index {high}",
        )


def check_coalesced(indices: Tensor, size: tuple[int, ...]) -> None:
    """Checks that the indices are sorted and distinct."""
    keys = keys_of(indices, size[: indices.shape[0]])
    require(
        bool((keys[1:] > keys[:-1]).all()),
        "cannot set is_coalesced to true if indices correspond to uncoalesced COO "
        "tensor",
    )


def names_of(layout: Any) -> tuple[str, str, str, str]:
    """The names of the pointers, the plain indices and their numbers of dims."""
    if layout in ROW_LAYOUTS:
        return "crow_indices", "col_indices", "rows", "cols"
    return "ccol_indices", "row_indices", "columns", "rows"


def check_compressed_shapes(
    layout: Any,
    pointers: Tensor,
    plain: Tensor,
    values: Tensor,
    size: tuple[int, ...],
) -> tuple[int, int]:
    """Checks the ranks and sizes of the components; returns the (compressed, plain)
    dims in blocks."""
    compressed_name, plain_name, _, _ = names_of(layout)
    for name, tensor in ((compressed_name, pointers), (plain_name, plain)):
        require(tensor.dim() >= 1, f"{name} must have dimensionality >= 1 but got 0")
    require(
        pointers.dtype is plain.dtype,
        f"{compressed_name} and {plain_name} must have the same dtype, but got "
        f"{pointers.dtype} and {plain.dtype}, respectively",
    )
    require(
        pointers.dtype in (pellucid.int32, pellucid.int64),
        f"{compressed_name} and {plain_name} must be int32 or int64, but got "
        f"{pointers.dtype}",
    )
    batch, blocks = pointers.dim() - 1, 2 * (layout in BLOCK_LAYOUTS)
    require(
        plain.dim() == batch + 1,
        f"{compressed_name} and {plain_name} dimensionalities must be equal but got "
        f"{pointers.dim()} and {plain.dim()}, respectively",
    )
    dense_dims = values.dim() - batch - 1 - blocks
    require(
        dense_dims >= 0,
        f"values must have dimensionality > sum of batch and block dimensionalities "
        f"(={batch} + {blocks}) but got {values.dim()}",
    )
    require(
        len(size) == batch + 2 + dense_dims,
        "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
        f"(={batch} + 2 + {dense_dims}) but got {len(size)}",
    )
    require(
        min(size, default=0) >= 0,
        f"a sparse tensor has no negative sizes; {tuple(size)} was given",
    )
    block = tuple(values.shape[batch + 1 : batch + 3]) if blocks else (1, 1)
    grid = []
    for dim in (0, 1):
        length = size[batch + dim]
        require(
            block[dim] > 0 and length % block[dim] == 0,
            f"tensor shape[{batch + dim}] (={length}) must be divisible with blocksize"
            f"[{dim}] (={block[dim]}) as defined by values shape",
        )
        grid.append(length // block[dim])
    outer, inner = grid if layout in ROW_LAYOUTS else grid[::-1]
    _check_lengths(layout, pointers, plain, values, size, outer)
    require(
        tuple(values.shape[batch + 1 + blocks :]) == tuple(size[batch + 2 :]),
        f"values have dense sizes {tuple(values.shape[batch + 1 + blocks :])}, the "
        f"tensor {tuple(size[batch + 2 :])}",
    )
    return outer, inner


def _check_lengths(
    layout: Any,
    pointers: Tensor,
    plain: Tensor,
    values: Tensor,
    size: tuple[int, ...],
    outer: int,
) -> None:
    compressed_name, plain_name, compressed_dim, _ = names_of(layout)
    batch = pointers.dim() - 1
    shapes = {tuple(t.shape[:batch]) for t in (pointers, plain, values)}
    require(
        shapes == {tuple(size[:batch])},
        f"all batch dimensions of the provided size ({size[:batch]}), and the shapes "
        "of "
        f"{compressed_name}, {plain_name} and values must be the same",
    )
    require(
        pointers.shape[-1] == outer + 1,
        f"{compressed_name}.shape[-1] must be equal to the number of {compressed_dim} "
        f"+ 1 (={outer + 1}), but got {pointers.shape[-1]}",
    )
    count = values.shape[batch]
    require(
        plain.shape[-1] == count,
        f"{plain_name}.shape[-1] must be equal to nnz (={count}) as defined by "
        f"values.shape[{batch}], but got {plain.shape[-1]}",
    )


def check_compressed_indices(
    layout: Any, pointers: Tensor, plain: Tensor, outer: int, inner: int
) -> None:
    """Checks that pointers partition the elements, and indices are sorted, distinct and
    in range."""
    compressed_name, plain_name, compressed_dim, plain_dim = names_of(layout)
    count = plain.shape[-1]

    def hold(condition: Tensor, what: str) -> None:
        require(bool(condition.all()), f"`{what}` is not satisfied.")

    hold(pointers[..., 0] == 0, f"{compressed_name}[..., 0] == 0")
    hold(pointers[..., -1] == count, f"{compressed_name}[..., -1] == nnz")
    steps = pointers[..., 1:] - pointers[..., :-1]
    hold(
        (steps >= 0) & (steps <= inner),
        f"0 <= {compressed_name}[..., 1:] - {compressed_name}[..., :-1] <= "
        f"n{plain_dim}",
    )
    hold((plain >= 0) & (plain < inner), f"0 <= {plain_name} < n{plain_dim}")
    for borders, indices in zip(
        pointers.reshape(-1, outer + 1),
        plain.reshape(pointers[..., 0].numel(), count),
        strict=True,
    ):
        keys = row_numbers(borders, count) * max(inner, 1) + indices
        hold(
            keys[1:] > keys[:-1],
            f"{plain_name}[..., {compressed_name}[..., i - 1]:{compressed_name}[..., "
            "i]]"
            f" for all i = 1, ..., n{compressed_dim} are sorted and distinct along the "
            "last dimension values",
        )

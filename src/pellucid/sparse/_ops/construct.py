"""``sparse_coo_tensor`` and the constructors of compressed layouts."""

from __future__ import annotations

from typing import Any, cast

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered
from pellucid.sparse._ops import invariants
from pellucid.sparse._ops.invariants import require
from pellucid.sparse._ops.parts import (
    BLOCK_LAYOUTS,
    COO,
    CSR,
    ROW_LAYOUTS,
    Parts,
    coo,
    join,
)

_COMPRESSED = (
    *(pellucid.sparse_csr, pellucid.sparse_csc),
    *(pellucid.sparse_bsr, pellucid.sparse_bsc),
)


@offered.function
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor with ``values[k]`` at ``indices[:, k]`` and 0 elsewhere.

    Values with further dims make a hybrid tensor, whose last dims are dense. Duplicate
    indices are summed. ``size`` defaults to the smallest that contains the indices;
    with only a size the tensor is empty. RuntimeError for inconsistent components; with
    ``check_invariants`` also for indices out of range.

        >>> torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2)).to_dense()
        tensor([[0., 1.],
                [2., 0.]])
    """
    require_no_pins(pin_memory)
    op = pellucid.ops.aten.sparse_coo_tensor
    if values is None:
        sizes = tuple(_size_alone(indices, size))
        made = cast(Tensor, op.size(sizes, dtype=dtype, device=device))
        return made.requires_grad_() if requires_grad else made
    index = _indices(indices, device or _device_of(values), pellucid.int64)
    value = _values(values, dtype, device)
    value = value.unsqueeze(0) if value.dim() == 0 else value
    with invariants.checked(check_invariants):
        if size is None:
            made = op.indices(index, value, is_coalesced=is_coalesced)
        else:
            sizes = tuple(int(n) for n in size)
            made = op.indices_size(index, value, sizes, is_coalesced=is_coalesced)
    return _finished(made, requires_grad)


def _size_alone(first: Any, size: Any) -> Any:
    """The size of a call without values, which is its only argument."""
    if (first is None) is (size is None):
        raise TypeError(
            "sparse_coo_tensor() takes indices and values, or a size alone: "
            "torch.sparse_coo_tensor((2, 3))"
        )
    return first if size is None else size


def empty_coo(size: Any, dtype: Any, device: Any) -> Tensor:
    """A COO tensor without elements."""
    sizes = tuple(size)
    require(
        min(sizes, default=0) >= 0,
        f"a sparse tensor has no negative sizes; {sizes} was given",
    )
    index = pellucid.zeros((len(sizes), 0), dtype=pellucid.int64, device=device)
    none = pellucid.zeros(0, dtype=dtype, device=device)
    return coo(index, none, sizes, True)


def without_elements(size: Any, layout: Any, dtype: Any, device: Any) -> Tensor:
    """Zeros of any layout but those of blocks; sparse ones store no elements."""
    if layout is COO:
        return empty_coo(size, dtype, device)
    if layout is pellucid.strided:
        return pellucid.zeros(size, dtype=dtype, device=device)
    if len(size) < 2:
        raise RuntimeError(
            f"{layout}: an empty tensor has rows and columns, and {tuple(size)} has not"
        )
    *batch, rows, columns = size
    if layout in BLOCK_LAYOUTS:
        raise RuntimeError(f"{layout}: an empty tensor needs a size of its blocks")
    count = rows if layout is CSR else columns
    index = {"dtype": pellucid.int64, "device": device}
    pointers = pellucid.zeros(*batch, count + 1, **index)
    plain = pellucid.zeros(*batch, 0, **index)
    values = pellucid.zeros(*batch, 0, dtype=dtype, device=device)
    return join(Parts(layout, tuple(size), 2, True, (pointers, plain), values))


def checked_coo(
    index: Tensor, value: Tensor, size: Any, is_coalesced: bool | None
) -> tuple[tuple[int, ...], bool]:
    """(the size, whether it is coalesced) of a COO tensor of these parts."""
    if size is None:
        invariants.check_coo_shapes(
            index, value, (0,) * (index.dim() and index.shape[0]) + value.shape[1:]
        )
        sizes = _least_size(index, value)
    else:
        sizes = tuple(size)
    invariants.check_coo_shapes(index, value, sizes)
    if invariants.is_checked():
        invariants.check_coo_indices(index, sizes)
        if is_coalesced:
            invariants.check_coalesced(index, sizes)
    return sizes, bool(is_coalesced) or (is_coalesced is None and index.shape[1] < 2)


def require_no_pins(pin_memory: Any) -> None:
    """RuntimeError where memory is to be pinned."""
    require(not pin_memory, "pin_memory needs an accelerator: leave it out")


def _device_of(values: Any) -> Any:
    return values.device if isinstance(values, Tensor) else None


def _indices(given: Any, device: Any, dtype: Any) -> Tensor:
    index = given if isinstance(given, Tensor) else pellucid.tensor(given)
    index = index if dtype is None else index.to(dtype)
    return index.detach().to(device=device) if device is not None else index.detach()


def _of_list(index: Tensor) -> Tensor:
    """Indices of a list as int64; a list of floats is refused by their dtype."""
    is_float = index.is_floating_point() and index.numel() > 0
    return index if is_float else index.to(pellucid.int64)


def _values(given: Any, dtype: Any, device: Any) -> Tensor:
    if not isinstance(given, Tensor):
        return pellucid.tensor(given, dtype=dtype, device=device)
    return given.to(dtype=dtype or given.dtype, device=device or given.device)


def _least_size(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    if not indices.shape[1]:
        return (*[0] * indices.shape[0], *values.shape[1:])
    lowest = indices.amin(1).tolist()
    for dim, low in enumerate(lowest):
        require(low >= 0, f"found negative index {low} for dim {dim}")
    return (*(n + 1 for n in indices.amax(1).tolist()), *values.shape[1:])


def _finished(made: Tensor, requires_grad: bool) -> Tensor:
    """A constructor's result: a leaf if ``requires_grad``."""
    return made.detach().requires_grad_() if requires_grad else made


@offered.function
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor of the ``layout`` CSR, CSC, BSR or BSC: ``compressed_indices`` are the
    offsets of rows (or columns) in the values, ``plain_indices`` the column (or row) of
    each value. RuntimeError for inconsistent components.
    """
    _require_compressed(layout)
    return _by_op(
        "sparse_compressed_tensor",
        (compressed_indices, plain_indices, values, size),
        *(layout, dtype, device, pin_memory, requires_grad, check_invariants),
    )


def _by_op(
    op: str,
    parts: tuple[Any, Any, Any, Any],
    layout: Any,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """What the op of this name makes of indices, values and a size or None, which may
    be lists.
    """
    compressed_indices, plain_indices, values, size = parts
    require_no_pins(pin_memory)
    value = _values(values, dtype, device)
    pointers = _indices(compressed_indices, value.device, None)
    plain = _indices(plain_indices, value.device, None)
    if not isinstance(compressed_indices, Tensor):
        pointers = _of_list(pointers)
    if not isinstance(plain_indices, Tensor):
        plain = _of_list(plain)
    sizes = () if size is None else ([int(n) for n in size],)
    with invariants.checked(check_invariants):
        construct = getattr(pellucid.ops.aten, op)
        result = construct(pointers, plain, value, *sizes, layout=layout)
    return _finished(result, requires_grad)


def _require_compressed(layout: Any) -> None:
    if layout not in _COMPRESSED:
        raise RuntimeError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got "
            f"{layout}"
        )


def compressed(
    pointers: Tensor, plain: Tensor, value: Tensor, size: Any, layout: Any
) -> Tensor:
    """A tensor of a compressed layout of these parts, which are checked."""
    _require_compressed(layout)
    sizes = (
        tuple(size)
        if size is not None
        else _compressed_size(layout, pointers, plain, value)
    )
    outer, inner = invariants.check_compressed_shapes(
        layout, pointers, plain, value, sizes
    )
    if invariants.is_checked():
        invariants.check_compressed_indices(layout, pointers, plain, outer, inner)
    return join(Parts(layout, sizes, 2, True, (pointers, plain), value))


def _compressed_size(
    layout: Any, pointers: Tensor, plain: Tensor, values: Tensor
) -> tuple[int, ...]:
    batch = pointers.dim() - 1
    blocked = layout in BLOCK_LAYOUTS
    rows, columns = values.shape[batch + 1 : batch + 3] if blocked else (1, 1)
    outer = pointers.shape[-1] - 1
    inner = int(plain.max()) + 1 if plain.numel() else 0
    base = (outer, inner) if layout in ROW_LAYOUTS else (inner, outer)
    dense = values.shape[batch + 1 + 2 * blocked :]
    return (*pointers.shape[:-1], base[0] * rows, base[1] * columns, *dense)


@offered.function
def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any
) -> Tensor:
    """``sparse_compressed_tensor`` of the layout sparse_csr."""
    options["layout"] = pellucid.sparse_csr
    return _by_op(
        "sparse_csr_tensor", (crow_indices, col_indices, values, size), **options
    )


@offered.function
def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any
) -> Tensor:
    """``sparse_compressed_tensor`` of the layout sparse_csc."""
    options["layout"] = pellucid.sparse_csc
    return _by_op(
        "sparse_csc_tensor", (ccol_indices, row_indices, values, size), **options
    )


@offered.function
def sparse_bsr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any
) -> Tensor:
    """``sparse_compressed_tensor`` of the layout sparse_bsr."""
    options["layout"] = pellucid.sparse_bsr
    return _by_op(
        "sparse_bsr_tensor", (crow_indices, col_indices, values, size), **options
    )


@offered.function
def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any
) -> Tensor:
    """``sparse_compressed_tensor`` of the layout sparse_bsc."""
    options["layout"] = pellucid.sparse_bsc
    return _by_op(
        "sparse_bsc_tensor", (ccol_indices, row_indices, values, size), **options
    )

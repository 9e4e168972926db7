"""Rules of copies, fills and sums, also with dense tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._ops.rules import require_castable
from pellucid.sparse._ops import pointwise
from pellucid.sparse._ops.construct import without_elements
from pellucid.sparse._ops.conversions import as_grid, convert
from pellucid.sparse._ops.dense import to_dense, values_at
from pellucid.sparse._ops.parts import (
    BLOCK_LAYOUTS,
    COO,
    Parts,
    coo,
    is_sparse,
    join,
    same_structure,
    split,
)
from pellucid.sparse._ops.patterns import coalesced, keys_of, product_of
from pellucid.sparse._ops.rules import RULES
from pellucid.sparse._ops.writes import refuse_leaf, write


def _copied(parts: Parts, values: Tensor) -> Tensor:
    structure = tuple(each.clone() for each in parts.structure)
    return join(parts._replace(structure=structure, values=values))


@RULES.because("indices are copied, too", overrides=True)("clone")
def clone(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy of the elements."""
    parts = split(self)
    return _copied(parts, parts.values.clone())


@RULES.because("indices and layout are converted, too", overrides=True)("_to_copy")
def to_copy(
    self: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Converts to another dtype, layout or device."""
    parts = split(self)
    device, dtype = device or self.device, dtype or parts.values.dtype
    structure = tuple(each.to(device=device) for each in parts.structure)
    values = parts.values.to(device=device, dtype=dtype)
    made = join(parts._replace(structure=structure, values=values))
    if layout is None or layout is parts.layout:
        return made
    return to_dense(made) if layout is pellucid.strided else convert(made, layout)


_views = RULES.because("a view of all components")


@_views("detach")
def detach(self: Tensor) -> Tensor:
    """The same components, detached."""
    return _C._share_sparse(self)  # type: ignore[no-any-return]


@_views("alias")
def alias(self: Tensor) -> Tensor:
    """The same components."""
    return join(split(self))


@RULES.because("a sparse tensor takes the pattern of another")("copy_")
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Writes ``src`` of the same size and layout; a sparse ``src`` overwrites all
    elements of a dense tensor.
    """
    if is_sparse(self) and not is_sparse(src):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented: a sparse "
            "tensor "
            "takes sparse ones; convert with to_sparse()"
        )
    if not is_sparse(self):
        return self.copy_(to_dense(src))
    if self.layout is not src.layout or (
        self.shape != src.shape and self.layout is not COO
    ):
        raise RuntimeError(
            "copy of sparse tensors requires the same layout and size: they are "
            f"{self.layout} {list(self.shape)} and {src.layout} {list(src.shape)}"
        )
    return write(self, clone(src).to(self.dtype), "copy_")  # type: ignore[no-any-return]


@RULES.because("stored elements are drawn; a COO tensor would be dense")(
    "normal_functional"
)
def drawn(self: Tensor, mean: float = 0, std: float = 1, **options: Any) -> Any:
    """``normal_`` of a compressed tensor."""
    if self.layout is COO:
        return NotImplemented
    parts = split(self)
    return parts.with_values(
        pellucid.empty_like(parts.values).normal_(mean, std, **options)
    )


@RULES.because(
    "stored elements are filled; a COO tensor would be dense", overrides=True
)("fill")
def fill(self: Tensor, value: Any) -> Any:
    """``fill_`` of a compressed tensor."""
    if self.layout is COO:
        return NotImplemented
    parts = split(self)
    return parts.with_values(pellucid.full_like(parts.values, value))


_without_elements = RULES.because("no element is stored")


@RULES.because("elements are removed, not set to 0", overrides=True)(
    "zero", "zeros_like"
)
@_without_elements("empty_like")
def empty_like(
    self: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, **_: Any
) -> Tensor:
    """A tensor of the same size without elements, of the same layout by default."""
    dtype, device = dtype or self.dtype, device or self.device
    if layout not in (None, self.layout):
        return without_elements(self.shape, layout, dtype, device)
    parts = split(self.detach())
    values = parts.values
    none = pellucid.zeros(0, *values.shape[1:], dtype=dtype, device=device)
    if parts.layout is COO:
        index = parts.indices.new_zeros((parts.sparse_dims, 0), device=device)
        return coo(index, none, parts.size, True)
    pointers, plain = (each.to(device) for each in parts.structure)
    batch = pointers.dim() - 1
    shape = (*values.shape[:batch], 0, *values.shape[batch + 1 :])
    return join(
        parts._replace(
            structure=(pellucid.zeros_like(pointers), plain[..., :0].contiguous()),
            values=values.new_zeros(shape, device=device).to(none.dtype),
        )
    )


@_without_elements("zeros", "empty")
def zeros(
    size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, **_: Any
) -> Tensor:
    """A tensor of this size and sparse layout without elements."""
    return without_elements(size, layout, dtype, device)


@_without_elements("new_zeros", "new_empty")
def new_zeros(
    self: Tensor,
    size: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    **_: Any,
) -> Tensor:
    """The same, COO by default, with the dtype of ``self``."""
    dtype, device = dtype or self.dtype, device or self.device
    return without_elements(size, layout or COO, dtype, device)


_BY_ELEMENT = (pellucid.sparse_csr, pellucid.sparse_csc)
_sums = RULES.because(
    "dense + sparse is dense; a sum without coalescing is cheaper", overrides=True
)


def _sum(op: Any, self: Any, other: Any, alpha: Any) -> Any:
    """``self + alpha * other`` for sparse tensors, or a dense and a sparse one."""
    if is_sparse(self) and is_sparse(other):
        joined = _joined(self, other, alpha, op)
        if joined is not None:
            return joined
        return pointwise.of(op)(self, other, alpha=alpha)
    if is_sparse(self) and self.layout in _BY_ELEMENT and isinstance(other, Tensor):
        common = pellucid.result_type(self, other)
        scaled = op(pellucid.zeros_like(other, dtype=common), other, alpha=alpha)
        return _dense_plus(scaled, self, pellucid.ops.aten.add.Tensor, 1)
    if is_sparse(self):
        name = op._schema.name.partition("::")[2]
        raise RuntimeError(
            f"{name}(sparse, dense) is not supported. Use {name}(dense, sparse) "
            "instead."
        )
    return self.clone() if other._nnz() == 0 else _dense_plus(self, other, op, alpha)


def _joined(self: Tensor, other: Tensor, alpha: Any, op: Any) -> Any:
    """The concatenated elements of both COO tensors, if that is cheaper than finding
    common ones, as in accumulation of gradients; else None.
    """
    first, second = split(self), split(other)
    if not (first.layout is second.layout is COO) or first.size != second.size:
        return None
    if first.sparse_dims != second.sparse_dims:
        return None
    if same_structure(first, second):
        return first.with_values(op(first.values, second.values, alpha=alpha))
    if first.is_coalesced and second.is_coalesced:
        return None
    scaled = op(pellucid.zeros_like(second.values), second.values, alpha=alpha)
    return coo(
        pellucid.cat([first.indices, second.indices], 1),
        pellucid.cat([first.values, scaled]),
        first.size,
        False,
    )


def _dense_plus(dense: Tensor, sparse: Tensor, op: Any, alpha: Any) -> Tensor:
    if dense.shape != sparse.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(dense.shape)} while other has size {list(sparse.shape)} (FYI: "
            "dense-sparse addition does not currently support broadcasting)"
        )
    rows = _flat_rows(sparse)
    if rows is None:
        return op(dense, to_dense(sparse), alpha=alpha)  # type: ignore[no-any-return]
    keys, values, shape = rows
    sign = -alpha if op._schema.name.endswith("sub") else alpha
    common = pellucid.result_type(dense, values)
    _check_alpha(common, alpha)
    whole = dense.reshape(shape).to(common)
    return whole.index_add(0, keys, values.to(common), alpha=sign).reshape(dense.shape)


def _flat_rows(sparse: Tensor) -> Any:
    """(the row of each element, the elements, the shape in rows); None for blocks."""
    if sparse.layout in BLOCK_LAYOUTS:
        return None
    grid = as_grid(sparse)
    shape = (product_of(grid.sparse_size), *grid.dense_size)
    return keys_of(grid.indices, grid.sparse_size), grid.values, shape


@_sums("add")
def add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``self + alpha * other``."""
    return _sum(pellucid.ops.aten.add.Tensor, self, other, alpha)


@_sums("sub")
def sub(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``self - alpha * other``."""
    return _sum(pellucid.ops.aten.sub.Tensor, self, other, alpha)


def add_rows(dense: Tensor, sparse: Tensor, alpha: Any) -> bool:
    """``dense += alpha * sparse`` at the stored rows. False, and nothing is done, if
    the dense tensor or the sparse one has no rows in memory.
    """
    if dense.shape != sparse.shape or not dense.is_contiguous():
        return False
    rows = _flat_rows(sparse)
    if rows is None:
        return False
    keys, values, shape = rows
    whole = dense if len(shape) == dense.dim() else dense.view(shape)
    if values.dtype is not dense.dtype:
        values = values.to(dense.dtype)
    whole.index_add_(0, keys, values, alpha=alpha)
    return True


def _check_alpha(common: pellucid.dtype, alpha: Any) -> None:
    if isinstance(alpha, float) and not (common.is_floating_point or common.is_complex):
        raise RuntimeError(
            "the argument 'alpha' of integer tensors must be an integer, not the float "
            f"{alpha}"
        )


def _sum_in_place(functional: Callable[..., Any], sign: int) -> Callable[..., Any]:
    name = f"{functional.__name__}_"

    def run(self: Tensor, other: Any, *, alpha: Any = 1) -> Any:
        if not is_sparse(self) and is_sparse(other):
            refuse_leaf(self, name)
            common = pellucid.result_type(self, other)
            require_castable(common, self.dtype)
            _check_alpha(common, alpha)
            if add_rows(self, other, sign * alpha):
                return self
        return write(self, functional(self, other, alpha=alpha), name)

    return run


_adds = RULES.because("rows are added to a dense tensor without a dense operand")
_adds("add_")(_sum_in_place(add, 1))
_adds("sub_")(_sum_in_place(sub, -1))


_divisions = RULES.because(
    "PyTorch refuses divisors of several elements: 0 / 0 is not 0", overrides=True
)


@_divisions("floor_divide")
def floor_divide(self: Any, other: Any) -> Any:
    """Division by a number, rounded down."""
    return div(self, other, rounding_mode="floor")


@RULES.because(
    "of COO tensors any power but 0 is of the stored elements", overrides=True
)("pow")
def pow_(self: Any, exponent: Any) -> Any:
    """Powers: ``0 ** -1`` is absent, as in PyTorch."""
    powers = pellucid.ops.aten.pow
    if not isinstance(exponent, Tensor) and self.layout is COO and exponent != 0:
        parts = split(coalesced(self))
        return parts.with_values(parts.values**exponent)
    if isinstance(exponent, Tensor) and isinstance(self, Tensor):
        return pointwise.of(powers.Tensor_Tensor)(self, exponent)
    is_base = isinstance(exponent, Tensor)
    return pointwise.of(powers.Scalar if is_base else powers.Tensor_Scalar)(
        self, exponent
    )


@_divisions("div")
def div(self: Any, other: Any, **options: Any) -> Any:
    """Division by a number."""
    is_number = not isinstance(other, Tensor)
    if not is_sparse(self) or (not is_number and (is_sparse(other) or other.dim())):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got "
            f"shape {list(other.shape)} for divisor)"
        )
    parts = split(self)
    if options.get("rounding_mode") and not parts.is_coalesced:
        parts = split(coalesced(self))
    return parts.with_values(pellucid.div(parts.values, other, **options))


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of ``self`` at the pattern of ``mask``."""
    if self.shape != mask.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self.shape)} but mask has size {list(mask.shape)}"
        )
    pattern = split(mask.detach())
    return pattern.with_values(values_at(self, pattern))

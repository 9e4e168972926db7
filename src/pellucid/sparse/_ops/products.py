"""Rules of products. A sparse matrix times a dense one is one op over its elements,
``_sparse_product``, whose gradient with respect to the values is a sampled product; two
sparse matrices are joined along the common index first.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.conversions import as_grid, convert
from pellucid.sparse._ops.dense import to_dense
from pellucid.sparse._ops.parts import (
    BLOCK_LAYOUTS,
    COO,
    CSR,
    Parts,
    coo,
    is_sparse,
    join,
    split,
)
from pellucid.sparse._ops.patterns import (
    coalesced,
    longest_row,
    multiplied,
    pointers_of,
    sum_groups,
)
from pellucid.sparse._ops.rules import RULES

rule = RULES.because("a term is an element times a row; a Graph has a term per index")


def _matrix(tensor: Tensor) -> Parts:
    """A sparse matrix as COO over single elements."""
    if tensor.layout in BLOCK_LAYOUTS:
        tensor = convert(tensor, COO)
    parts = as_grid(tensor)
    if parts.sparse_dims != 2 or parts.values.dim() != 1:
        raise RuntimeError(
            "sparse products take matrices with 2 sparse dims and no dense ones; this "
            f"tensor has {parts.sparse_dims} and {parts.values.dim() - 1}"
        )
    return parts


def _require_common(name: str, first: Tensor, second: Tensor) -> None:
    if first.dim() != 2 or second.dim() != 2:
        raise RuntimeError(
            f"{name}: expected two matrices, got {first.dim()} and {second.dim()} dims"
        )
    if first.shape[1] != second.shape[0]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({first.shape[0]}x{first.shape[1]} and "
            f"{second.shape[0]}x{second.shape[1]})"
        )


@rule("mm")
def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product: dense, unless both are sparse."""
    _require_common("mm", self, mat2)
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"mm: expected both matrices to have the same dtype, but got {self.dtype} "
            "and "
            f"{mat2.dtype}"
        )
    if is_sparse(self) and is_sparse(mat2):
        return _of_two(self, mat2)
    if is_sparse(self):
        return _times_dense(self, mat2)
    flipped = _times_dense(_transposed(mat2), self.t())
    return flipped.t().contiguous()


def _times_dense(matrix: Tensor, dense: Tensor) -> Tensor:
    """By rows if the elements are sorted by row, else element by element."""
    rows = _rows(matrix)
    if rows is not None:
        pointers, columns, values = rows
        longest = longest_row(pointers)
        return pellucid._C._pellucid._compressed_product(
            values, pointers, columns, dense, longest
        )
    parts = _matrix(matrix)
    return pellucid._C._pellucid._sparse_product(
        parts.values, parts.indices[0], parts.indices[1], dense, matrix.shape[0]
    )


def _rows(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """(row pointers, columns, values) of a matrix whose elements are sorted by row,
    else None.
    """
    parts = split(matrix)
    if parts.layout is CSR and parts.values.dim() == 1:
        pointers, columns = parts.structure
        return pointers, columns, parts.values
    if parts.layout is COO and parts.is_coalesced and parts.sparse_dims == 2:
        rows, columns = parts.indices
        if parts.values.dim() == 1:
            return pointers_of(rows, parts.size[0]), columns, parts.values
    return None


def sorted_rows(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(row pointers, columns, values) of any sparse matrix."""
    found = _rows(matrix) or _rows(coalesced(convert(matrix, COO)))
    assert found is not None
    return found


def _transposed(matrix: Tensor) -> Tensor:
    """The transpose; its elements are not sorted if the matrix is by rows."""
    if matrix.layout is not CSR:
        return matrix.t()
    parts = _matrix(matrix)
    flipped = (parts.size[1], parts.size[0])
    return coo(parts.indices.flip(0), parts.values, flipped, False)


def _of_two(first: Tensor, second: Tensor) -> Tensor:
    """The sparse product: each element of the first times one row of the second."""
    a, b = sorted_rows(first), sorted_rows(second)
    size = (first.shape[0], second.shape[1])
    pointers, columns, in_first, in_second, elements = multiplied(a[:2], b[:2], size[1])
    terms = a[2].index_select(0, in_first) * b[2].index_select(0, in_second)
    values = sum_groups(terms, elements, len(columns))
    made = join(Parts(CSR, size, 2, True, (pointers, columns), values))
    return convert(made, first.layout)


def _as_coo(tensor: Tensor) -> Tensor:
    return convert(tensor, COO)


@rule("addmm")
def addmm(
    self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """``beta * self + alpha * (mat1 @ mat2)``."""
    if not (is_sparse(mat1) or is_sparse(mat2)):
        raise NotImplementedError(
            "addmm: a sparse tensor is not added to a dense product; use its to_dense()"
        )
    product = mm(mat1, mat2)
    if is_sparse(self) and not is_sparse(product):
        self = to_dense(self)
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    self = self if beta == 1 else self * beta
    return (self if self.shape == scaled.shape else self.expand(scaled.shape)) + scaled


@rule("addmv")
def addmv(
    self: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """``beta * self + alpha * (mat @ vec)``."""
    columns = addmm(self.unsqueeze(-1), mat, vec.unsqueeze(1), beta=beta, alpha=alpha)
    return columns.squeeze(1)


@rule("mv")
def mv(self: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    if is_sparse(vec):
        vec = to_dense(vec)
    if not is_sparse(self):
        return self.mv(vec)
    return mm(self, vec.unsqueeze(1)).squeeze(1)


@rule("bmm")
def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """Batched products of matrices: the first is sparse, with 3 sparse dims."""
    if not is_sparse(self) or is_sparse(mat2):
        raise NotImplementedError(
            "bmm: the first operand is sparse and the second dense; convert with "
            "to_dense()"
        )
    parts = split(_as_coo(self))
    if parts.sparse_dims != 3 or mat2.dim() != 3 or self.dim() != 3:
        raise RuntimeError("bmm: expected batches of matrices, with 3 (sparse) dims")
    batch, rows, common = self.shape
    if mat2.shape[:2] != (batch, common):
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{batch}, {common}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    example, row, column = parts.indices
    whole = pellucid._C._pellucid._sparse_product(
        parts.values,
        example * rows + row,
        example * common + column,
        mat2.reshape(batch * common, mat2.shape[2]),
        batch * rows,
    )
    return whole.reshape(batch, rows, mat2.shape[2])


@rule("matmul")
def matmul(self: Tensor, other: Tensor) -> Tensor:
    """``self @ other`` by the numbers of dims; a dense operand may have batch dims."""
    dims = self.dim(), other.dim()
    if dims == (2, 2):
        return mm(self, other)
    if dims == (2, 1):
        return mv(self, other)
    if dims == (1, 2):
        return mv(other.t(), self)
    if dims == (3, 3) and is_sparse(self):
        return bmm(self, other)
    if dims[1] == 2 and not is_sparse(self) and dims[0] > 2:
        flat = mm(self.reshape(-1, self.shape[-1]), other)
        return flat.reshape(*self.shape[:-1], other.shape[1])
    raise NotImplementedError(
        f"matmul: operands with {dims[0]} and {dims[1]} dims and the layouts "
        f"{self.layout} "
        f"and {other.layout}; convert with to_dense()"
    )


@rule("linear")
def linear(input: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """``input @ weight.T + bias``, either of the first two sparse."""
    if input.dim() == 1:
        product = mv(weight, input)
    elif input.dim() == 2:
        product = mm(input, weight.t())
    else:
        flat = input.reshape(-1, input.shape[-1])
        product = mm(flat, weight.t()).reshape(*input.shape[:-1], weight.shape[0])
    return product if bias is None else product + bias


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> Tensor:
    """``alpha * (mat1 @ mat2)`` at the pattern of ``input``, plus ``beta * input``."""
    if not is_sparse(input):
        raise RuntimeError(
            "sampled_addmm: Expected self to be a sparse tensor; this one is strided"
        )
    parts = _matrix(input)
    rows, columns = parts.indices
    found = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    return split(input).with_values(beta * parts.values + alpha * found)


def reduced_mm(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    """The mean, maximum or minimum of each element's terms; 0 without terms."""
    _require_common("mm", mat1, mat2)
    if mat1.layout is not pellucid.sparse_csr or is_sparse(mat2):
        raise RuntimeError(
            "torch.sparse.mm(reduce=): the first matrix is CSR and the second strided; "
            f"they are {mat1.layout} and {mat2.layout}"
        )
    parts = _matrix(mat1)
    rows, columns = parts.indices
    terms = parts.values.unsqueeze(1) * mat2.index_select(0, columns)
    whole = terms.new_zeros((mat1.shape[0], mat2.shape[1]))
    return whole.index_reduce(0, rows, terms, reduce, include_self=False)

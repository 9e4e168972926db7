"""Rules of linear systems: a sparse triangular matrix and a dense right side."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.autograd import Function
from pellucid.sparse._ops.conversions import convert
from pellucid.sparse._ops.parts import COO, coo, is_sparse, split
from pellucid.sparse._ops.patterns import keys_of, product_of, row_numbers
from pellucid.sparse._ops.products import sorted_rows
from pellucid.sparse._ops.rules import RULES


@RULES.because("rows are solved in order, each from its stored elements")(
    "_linalg_solve_triangular"
)
def solve_triangular(A: Tensor, B: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    """X with ``A X = B``; A's gradient has its pattern. Batches of matrices are the
    blocks of one matrix; a batch of right sides becomes columns of one.
    """
    if not is_sparse(A) or is_sparse(B):
        raise NotImplementedError(
            "a triangular system has a sparse matrix and a dense right side; use "
            "to_dense()"
        )
    batch = A.shape[:-2]
    is_square = min(A.dim(), B.dim()) > 1 and A.shape[-2] == A.shape[-1]
    if not is_square or batch not in ((), B.shape[:-2]):
        raise RuntimeError(
            "a sparse triangular system has square matrices, one or as many as right "
            f"sides, not sizes {tuple(A.shape)} and {tuple(B.shape)}"
        )
    if batch:
        whole = _block_diagonal(A), B.flatten(0, -2)
        return solve_triangular(*whole, upper, unitriangular).view(B.shape)
    if B.dim() > 2:
        rows = B.movedim(-2, 0)
        found = solve_triangular(A, rows.flatten(1), upper, unitriangular)
        return found.view(rows.shape).movedim(0, -2)
    pointers, columns, values = sorted_rows(A)
    made: Tensor = _Solution.apply(values, B, pointers, columns, upper, unitriangular)
    return made


def _block_diagonal(matrices: Tensor) -> Tensor:
    """The matrix whose diagonal blocks are these, as COO."""
    parts = split(convert(matrices, COO))
    *batch, rows, columns = parts.indices
    size = matrices.shape[-1]
    first = keys_of(pellucid.stack(batch), matrices.shape[:-2]) * size
    indices = pellucid.stack([first + rows, first + columns])
    whole = size * product_of(matrices.shape[:-2])
    return coo(indices, parts.values, (whole, whole), parts.is_coalesced)


class _Solution(Function):
    """X with ``T X = B`` for a triangle T of a matrix by rows."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        b: Tensor,
        pointers: Tensor,
        columns: Tensor,
        upper: bool,
        unit: bool,
    ) -> Tensor:
        x = _solved(values, b, pointers, columns, upper, unit)
        ctx.save_for_backward(values, x, pointers, columns)
        ctx.form = upper, unit
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        values, x, pointers, columns = ctx.saved_tensors
        upper, unit = ctx.form
        rows = row_numbers(pointers, len(columns))
        matrix = pellucid.sparse_coo_tensor(
            pellucid.stack([columns, rows]), values.conj(), (len(x), len(x))
        )
        by_b = solve_triangular(matrix, grad, not upper, unit)
        within = columns > rows if upper else columns < rows
        within = within if unit else within | (columns == rows)
        terms = by_b.index_select(0, rows) * x.index_select(0, columns).conj()
        by_values = terms.sum(1).where(within, terms.new_zeros(()))
        return -by_values, by_b, None, None, None, None


def _solved(
    values: Tensor,
    b: Tensor,
    pointers: Tensor,
    columns: Tensor,
    upper: bool,
    unit: bool,
) -> Tensor:
    first, second = (each.cpu().long().contiguous() for each in (pointers, columns))
    numbers = values.detach().cpu().contiguous()
    x = b.detach().cpu().clone(memory_format=pellucid.contiguous_format)
    _C._solve_triangle(first, second, numbers, x, int(upper), int(unit))
    return x.to(b.device)

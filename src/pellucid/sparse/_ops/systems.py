"""Rules of linear systems: a sparse triangular matrix and a dense right side."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.autograd import Function
from pellucid.sparse._ops.parts import is_sparse
from pellucid.sparse._ops.patterns import row_numbers
from pellucid.sparse._ops.products import sorted_rows
from pellucid.sparse._ops.rules import RULES


@RULES.because("rows are solved in order, each from its stored elements")(
    "_linalg_solve_triangular"
)
def solve_triangular(A: Tensor, B: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    """X with ``A X = B``; A's gradient has its pattern."""
    if not is_sparse(A) or is_sparse(B):
        raise NotImplementedError(
            "a triangular system has a sparse matrix and a dense right side; use "
            "to_dense()"
        )
    if A.dim() != 2 or B.dim() != 2 or A.shape[0] != A.shape[1]:
        raise RuntimeError(
            f"a sparse triangular system has a square matrix and a matrix at its right "
            f"side, not sizes {tuple(A.shape)} and {tuple(B.shape)}"
        )
    pointers, columns, values = sorted_rows(A)
    made: Tensor = _Solution.apply(values, B, pointers, columns, upper, unitriangular)
    return made


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

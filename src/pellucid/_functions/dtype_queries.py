"""Questions about tensors that programs ask rarely, and an old way to count.

Imported when first asked for.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._calls.deprecation import deprecated

_Operand = Tensor | bool | int | float | complex


def result_type(tensor1: _Operand, tensor2: _Operand) -> pellucid.dtype:
    """The dtype that arithmetic gives for these two, tensors or numbers.

    Example::

        >>> torch.result_type(torch.tensor([1, 2], dtype=torch.int32), 1.0)
        torch.float32
    """
    # Results of products of truth values are truth values, unlike those of sums.
    return (_without_values(tensor1) * _without_values(tensor2)).dtype


def _without_values(operand: _Operand) -> Tensor:
    """What decides a dtype: the operand's own, and whether it has dims."""
    if not isinstance(operand, Tensor):
        if isinstance(operand, float):
            operand = float(operand)  # NumPy's float64 counts as Python's number
        return pellucid.tensor(operand, device="meta")
    return operand.new_empty([1] * operand.dim(), device="meta")


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.is_signed()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.shape == other.shape


_range, _range_into = _C._op_named("range.step"), _C._op_named("range.out")


def range(
    start: float = 0, end: float | None = None, step: float = 1, **options: Any
) -> Tensor:
    """``arange`` with its end included, in the default float dtype."""
    deprecated("torch.range", "torch.arange, which leaves the end out")
    if end is None:
        raise TypeError("range() needs start and end: torch.range(0, 4)")
    form = _range if options.get("out") is None else _range_into
    result: Tensor = form(start, end, step, **options)
    return result

"""``torch.distributed._functional_collectives``: the functions that libraries use.

These collectives are complete when they return, so waiting is a no-op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.autograd import Function
from pellucid.distributed._collectives import all_to_all_single

__all__ = ["all_to_all_single_autograd", "wait_tensor"]


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, after the collective that fills it."""
    return tensor


class _Exchange(Function):
    """Exchanges rows among all ranks; backward exchanges the gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        taken: Sequence[int] | None,
        given: Sequence[int] | None,
        group: Any,
    ) -> Tensor:
        ctx.taken, ctx.given, ctx.group = taken, given, group
        rows = len(x) if taken is None else sum(taken)
        found = x.new_empty(rows, *x.shape[1:])
        all_to_all_single(found, x.contiguous(), taken, given, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        back = _Exchange.apply(grad, ctx.given, ctx.taken, ctx.group)
        return back, None, None, None


def all_to_all_single_autograd(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Exchanges rows of a tensor among the ranks, with gradients.

    ``input_split_sizes`` are the numbers of rows sent to each rank,
    ``output_split_sizes`` those received from each; both are equal by default.
    """
    found: Tensor = _Exchange.apply(self, output_split_sizes, input_split_sizes, group)
    return found

"""``torch.distributed._functional_collectives``: what libraries take from it.

Collectives here have ended when they return, so there is nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.autograd import Function
from pellucid.distributed._collectives import all_to_all_single

__all__ = ["all_to_all_single_autograd", "wait_tensor"]


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, once the collective that fills it has ended."""
    return tensor


class _Exchange(Function):
    """Rows to every rank and from every rank; gradients go the way back."""

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
    """Rows of a tensor exchanged among the ranks, with gradients.

    ``input_split_sizes`` says how many rows go to each rank, ``output_split_sizes``
    how many come from each; without them all have as many.
    """
    found: Tensor = _Exchange.apply(self, output_split_sizes, input_split_sizes, group)
    return found

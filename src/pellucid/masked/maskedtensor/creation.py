"""Constructors of masked tensors: a leaf of its own, or the result of an op on data."""

from __future__ import annotations

from pellucid import Tensor
from pellucid.masked.maskedtensor.core import MaskedTensor, WithMask

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(
    data: Tensor, mask: Tensor, requires_grad: bool = False
) -> MaskedTensor:
    """The elements of ``data`` where ``mask`` is true; a leaf, with copies of both.

    TypeError if ``mask`` does not hold bools, ValueError if the sizes differ.

        >>> data = torch.tensor([1.0, 2.0, 3.0])
        >>> torch.masked.masked_tensor(data, data > 1.5).sum()
        MaskedTensor(  5.0000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """Like ``masked_tensor``, but gradients pass to ``data``."""
    made: MaskedTensor = WithMask.apply(data, mask)
    return made

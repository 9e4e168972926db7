"""``MaskedTensor``: tensors with absent elements."""

from pellucid.masked.maskedtensor.core import MaskedTensor, is_masked_tensor
from pellucid.masked.maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

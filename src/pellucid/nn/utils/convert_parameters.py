"""Parameters as one vector and back."""

from __future__ import annotations

from collections.abc import Iterable

import pellucid
from pellucid import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened and concatenated."""
    return pellucid.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes each parameter's data a view of its part of ``vec``."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a Tensor, not {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[start : start + count].view_as(parameter).data
        start += count

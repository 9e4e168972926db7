"""Rarely used queries about tensors. ``torch.ops`` has ops of some of the names
(``composites/queries.py``); these functions do not dispatch to them.

Imported lazily.
"""

from __future__ import annotations

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered


@offered.function
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.is_signed()


@offered.function
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.shape == other.shape


@offered.function
def get_device(input: Tensor) -> int:
    """The number of the tensor's device; -1 for the CPU."""
    return int(input.get_device())


@offered.function
def is_distributed(input: Tensor) -> bool:
    """Always False: no tensor is spread over processes."""
    return False


@offered.runtime_value
def _get_default_device() -> str:
    """For libraries, in ``torch._C``: the type of the default device of factories."""
    return str(pellucid.get_default_device().type)


@offered.runtime_value
def _is_alias_of(first: Tensor, second: Tensor) -> bool:
    """For libraries, in ``torch._C``: whether two tensors share a storage."""
    return first.untyped_storage()._cdata == second.untyped_storage()._cdata

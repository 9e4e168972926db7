"""Queries about tensors as functions: the bodies of the ops of their names.

They are not the ops' callables, since no mode sees PyTorch's functions called. Imported
lazily.
"""

from __future__ import annotations

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered
from pellucid_compiler.composites import complex_numbers, queries

get_device = offered.function(queries.get_device.body)
is_complex = offered.function(queries.is_complex.body)
is_conj = offered.function(queries.is_conj.body)
is_floating_point = offered.function(queries.is_floating_point.body)
is_inference = offered.function(queries.is_inference.body)
is_neg = offered.function(queries.is_neg.body)
is_signed = offered.function(queries.is_signed.body)
numel = offered.function(queries.numel.body)

conj = offered.function(offered.method(complex_numbers.conj.body))


@offered.runtime_value
def _get_default_device() -> str:
    """For libraries, in ``torch._C``: the type of the default device of factories."""
    return str(pellucid.get_default_device().type)


@offered.runtime_value
def _is_alias_of(first: Tensor, second: Tensor) -> bool:
    """For libraries, in ``torch._C``: whether two tensors share a storage."""
    return first.untyped_storage()._cdata == second.untyped_storage()._cdata

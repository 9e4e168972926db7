"""Policies of sharded training."""

from __future__ import annotations

from dataclasses import dataclass

from pellucid import dtype as DType


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of parameters in use, of gradients that are combined, of outputs."""

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    output_dtype: DType | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Sharded parameters are in host memory, as always here."""

    pin_memory: bool = True

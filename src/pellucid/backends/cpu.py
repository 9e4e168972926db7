"""The processor: what its instructions are."""

from __future__ import annotations

from pellucid import _C


def get_cpu_capability() -> str:
    """ "AVX512" or "AVX2": the widest vectors that kernels use."""
    return "AVX512" if _C._isa_level().endswith("v4") else "AVX2"

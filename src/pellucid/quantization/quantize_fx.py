"""``torch.quantization.quantize_fx``: as in ``torch.ao.quantization``."""

from __future__ import annotations

from pellucid.ao.quantization.quantize_fx import (
    QuantizationTracer,
    Scope,
    ScopeContextManager,
    convert_fx,
    fuse_fx,
    prepare_fx,
    prepare_qat_fx,
)

__all__ = [
    "QuantizationTracer",
    "Scope",
    "ScopeContextManager",
    "convert_fx",
    "fuse_fx",
    "prepare_fx",
    "prepare_qat_fx",
]

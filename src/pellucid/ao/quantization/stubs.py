"""Where a model would be given quantized values, and where it would give floats."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.nn import Module


class QuantStub(Module):
    """The input as it is; ``convert`` makes it quantize."""

    qconfig: Any

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """``x``"""
        return x


class DeQuantStub(QuantStub):
    """The input as it is; ``convert`` makes it dequantize."""


class QuantWrapper(Module):
    """A module between the two stubs."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Tensor) -> Any:
        """The module's result for ``X``."""
        return self.dequant(self.module(self.quant(X)))

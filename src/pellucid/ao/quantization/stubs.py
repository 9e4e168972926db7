"""Stubs that mark where a model quantizes and dequantizes."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.nn import Module


class QuantStub(Module):
    """The identity; ``convert`` replaces it by quantization."""

    qconfig: Any

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """``x``"""
        return x


class DeQuantStub(QuantStub):
    """The identity; ``convert`` replaces it by dequantization."""


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

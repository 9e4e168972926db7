"""Quantized models: not offered.

Libraries ask whether a module is an observer, and put stubs where a model would be
quantized. No module is an observer here, and a stub gives what it gets, as everywhere
before a model is converted.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid import Tensor
from pellucid.nn import Module

__all__ = [
    "DeQuantStub",
    "FakeQuantizeBase",
    "ObserverBase",
    "QuantStub",
    "QuantWrapper",
    "convert",
    "prepare",
    "prepare_qat",
    "quantize",
    "quantize_dynamic",
]


class _NotOffered(Module):
    """A module that has no instances."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(_refusal(type(self).__name__))


class ObserverBase(_NotOffered):
    """What records the range of values."""


class FakeQuantizeBase(_NotOffered):
    """What rounds values as a quantized model would."""


class QuantStub(Module):
    """The place where a model would be given quantized values: the input as it is."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig is not None:
            raise NotImplementedError(_refusal("a qconfig"))

    def forward(self, x: Tensor) -> Tensor:
        """``x``"""
        return x


class DeQuantStub(QuantStub):
    """The place where a quantized model would give floats: the input as it is."""


class QuantWrapper(Module):
    """A module between the two stubs."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant = QuantStub()
        self.dequant = DeQuantStub()
        self.module = module
        self.train(module.training)

    def forward(self, x: Tensor) -> Any:
        """The module's result for ``x``."""
        return self.dequant(self.module(self.quant(x)))


def _refusal(what: str) -> str:
    return (
        f"{what} is of quantized models, which are not offered; for a smaller model "
        "convert it: model.to(torch.bfloat16)"
    )


def prepare(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(_refusal("prepare"))


def prepare_qat(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(_refusal("prepare_qat"))


def convert(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(_refusal("convert"))


def quantize(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(_refusal("quantize"))


def quantize_dynamic(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(_refusal("quantize_dynamic"))

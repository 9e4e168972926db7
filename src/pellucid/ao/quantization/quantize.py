"""``prepare``, ``convert`` and ``quantize``: not offered.

What they are made of is: observers, fake quantization, fused layers and quantized
tensors. A stub gives what it gets, as everywhere before a model is converted.
"""

from __future__ import annotations

from typing import Any, NoReturn


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

"""The default ``__torch_function__``: converts results to Tensor subclasses.

The runtime calls ``convert_result`` (``runtime/python/function_protocol.cpp``).
"""

from __future__ import annotations

from functools import lru_cache
from types import MethodWrapperType
from typing import Any

from pellucid._tensor.tensor import Tensor


def convert_result(result: Any, cls: type[Tensor], function: Any) -> Any:
    """Converts the tensors in a call's result to the Tensor subclass."""
    if type(result) is Tensor and cls is not Tensor:
        if type(function) is MethodWrapperType and function in getters_left_plain():
            return result
        return result.as_subclass(cls)
    if isinstance(result, tuple | list):
        return type(result)([convert_result(item, cls, function) for item in result])
    return result


@lru_cache(None)
def getters_left_plain() -> set[Any]:
    """Functions whose results are not converted."""
    return {getattr(Tensor, name).__get__ for name in ("_base", "grad", "_grad")}

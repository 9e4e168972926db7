"""What autocast does with functions that are composed of ops: what a declaration's
``autocast="float32"`` does with an op. For functions that PyTorch computes in float32.
"""

from __future__ import annotations

from functools import wraps

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of the package's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")


def in_float32(function: Callable[..., T]) -> Callable[..., T]:
    """``function``, whose operands of half precision are cast to float32 inside of an
    autocast region, and which then runs outside of it.
    """

    @wraps(function)
    def cast(*args: Any, **kwargs: Any) -> T:
        enabled, dtype, keeps_casts = _C._autocast_state()
        if not enabled:
            return function(*args, **kwargs)
        _C._set_autocast(False, dtype, keeps_casts)
        try:
            return function(
                *map(_float32, args), **{k: _float32(v) for k, v in kwargs.items()}
            )
        finally:
            _C._set_autocast(True, dtype, keeps_casts)

    return cast


def _float32(value: Any) -> Any:
    if isinstance(value, _C.TensorBase) and value.dtype in (_C.bfloat16, _C.float16):
        return value.to(_C.float32)
    return value

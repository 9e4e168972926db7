"""``autocast`` regions: switched off they do nothing, switched on they are refused."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import pellucid
from pellucid import dtype as DType

F = TypeVar("F", bound=Callable[..., Any])


class autocast:
    """A region, or a decorated function, that computes in a lower precision.

    ``device_type`` is ``"cpu"`` or a device that is not there, for which PyTorch warns
    and switches the region off. ``enabled=False`` computes in the dtypes of the
    operands, as everything here does. Raises NotImplementedError when it is entered
    switched on.

    Example::

        >>> import pellucid as torch
        >>> with torch.autocast("cpu", enabled=False):
        ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
        torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(
                f"autocast: device_type is a string, {type(device_type).__name__} was "
                'given; say "cpu"'
            )
        self.device = device_type
        self.fast_dtype = dtype or pellucid.bfloat16
        if enabled and device_type != "cpu":
            warnings.warn(
                f"autocast: there is no device of type {device_type!r}; the region is "
                "switched off",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        if self._enabled:
            raise NotImplementedError(
                "autocast does not lower the precision of operations yet; pass "
                "enabled=False, or convert the model: model.to(torch.bfloat16)"
            )
        return self

    def __exit__(self, *failure: object) -> None:
        return None

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: DType | None = None,
) -> Any:
    """Decorates ``forward`` of a custom Function; outside a region it does nothing."""
    return fwd if fwd is not None else lambda function: function


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates ``backward`` of a custom Function; outside a region it does nothing."""
    return bwd if bwd is not None else lambda function: function


def is_autocast_available(device_type: str) -> bool:
    """Whether ``autocast`` can be switched on for the device: False for all of them."""
    return False


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether this thread is in a region that is switched on: always False."""
    return False


def is_autocast_cache_enabled() -> bool:
    """Whether a region would keep lowered weights: always False."""
    return False


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that a region would compute in: bfloat16."""
    return pellucid.bfloat16

"""``autocast`` regions: products in half precision, sensitive ops in float32.

The declarations of ops define which cast their operands (``autocast=``), by PyTorch's
rules for the CPU. The runtime casts above function transforms and autograd, so that
gradients pass through the casts (``runtime/transforms/autocast.h``). A loss that is
composed of other ops, such as ``triplet_margin_loss``, stays in the dtype of its
operands.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import pellucid
from pellucid import _C
from pellucid import dtype as DType
from pellucid._package.calls import offered

F = TypeVar("F", bound=Callable[..., Any])

_DTYPES = (pellucid.bfloat16, pellucid.float16)


@offered.value
class autocast:
    """A region, or a decorated function, that computes products in half precision.

    ``device_type`` is ``"cpu"``, or a device that is not there, for which PyTorch warns
    and switches the region off. ``dtype`` is bfloat16 unless given, or float16. Inside,
    products, convolutions and attention cast their float32 operands to it; losses,
    ``prod`` and ``linalg`` cast theirs to float32; ``cat`` and ``stack`` go to the
    widest. Casts of parameters are cached until the outermost region ends, unless
    ``cache_enabled`` is False. ``enabled=False`` switches a region around off.

    Example::

        >>> import pellucid as torch
        >>> with torch.autocast("cpu"):
        ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
        torch.bfloat16
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
        pellucid.device(device_type)  # raises for names of no kind of device
        self.device = device_type
        self.fast_dtype = dtype or get_autocast_dtype(device_type)
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        self._enabled = enabled and self._can_be_enabled()
        self._before: list[tuple[bool, DType, bool]] = []

    def _can_be_enabled(self) -> bool:
        reason = ""
        if self.device != "cpu":
            reason = f"there is no device of type {self.device!r}"
        elif self.fast_dtype not in _DTYPES:
            reason = f"bfloat16 and float16 are offered, {self.fast_dtype} was given"
        if reason:
            warnings.warn(
                f"autocast: {reason}; the region is switched off", stacklevel=3
            )
        return not reason

    def __enter__(self) -> autocast:
        self._before.append(_C._autocast_state())
        if self.device == "cpu":
            _C._set_autocast(self._enabled, self.fast_dtype, self._cache_enabled)
            autocast_increment_nesting()
        return self

    def __exit__(self, *failure: object) -> None:
        before = self._before.pop()
        if self.device == "cpu":
            if autocast_decrement_nesting() == 0:
                clear_autocast_cache()
            _C._set_autocast(*before)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


# The parts of a region, for libraries that call them directly

# The default dtype of regions of unavailable devices.
_dtypes_of_absent_devices: dict[str, DType] = {}


def is_autocast_available(device_type: str) -> bool:
    """Whether ``autocast`` can be switched on for the device: for the CPU."""
    return device_type == "cpu"


@offered.value
def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether this thread is in a region that is switched on for the device; without
    one, for CUDA devices (not available).
    """
    return device_type == "cpu" and _C._autocast_state()[0]


@offered.value
def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switch this thread's casts on or off, as a region does while it lasts. Without
    a device, for CUDA devices.
    """
    named = not isinstance(device_type, bool)
    device, on = (device_type, enabled) if named else ("cuda", device_type)
    if device == "cpu":
        _C._set_autocast(bool(on), *_C._autocast_state()[1:])
    elif on:
        raise RuntimeError(
            f'set_autocast_enabled: there is no device of type {device!r}; say "cpu"'
        )


@offered.value
def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that a region computes products in: bfloat16 on the CPU."""
    if device_type == "cpu":
        return _C._autocast_state()[1]
    return _dtypes_of_absent_devices.get(device_type, pellucid.float16)


@offered.value
def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Sets the default dtype of regions, which ``get_autocast_dtype`` returns."""
    if device_type == "cpu":
        enabled, _, caches_casts = _C._autocast_state()
        _C._set_autocast(enabled, dtype, caches_casts)
    else:
        _dtypes_of_absent_devices[device_type] = dtype


@offered.value
def is_autocast_cache_enabled() -> bool:
    """Whether regions cache the casts of parameters."""
    return _C._autocast_state()[2]


@offered.value
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether regions cache the casts of parameters."""
    _C._set_autocast(*_C._autocast_state()[:2], enabled)


@offered.value
def clear_autocast_cache() -> None:
    """Empty this thread's cache of casts."""
    _C._forget_casts()


@offered.value
def autocast_increment_nesting() -> int:
    """Enters a region; returns the nesting depth."""
    return _C._nest_autocast(1)


@offered.value
def autocast_decrement_nesting() -> int:
    """Leaves a region; returns the nesting depth."""
    return _C._nest_autocast(-1)


@offered.value
def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")``, which replaces it."""
    return is_autocast_enabled("cpu")


@offered.value
def set_autocast_cpu_enabled(enabled: bool) -> None:
    """``set_autocast_enabled("cpu", ...)``, which replaces it."""
    set_autocast_enabled("cpu", enabled)


@offered.value
def get_autocast_cpu_dtype() -> DType:
    """``get_autocast_dtype("cpu")``, which replaces it."""
    return get_autocast_dtype("cpu")


@offered.value
def set_autocast_cpu_dtype(dtype: DType) -> None:
    """``set_autocast_dtype("cpu", ...)``, which replaces it."""
    set_autocast_dtype("cpu", dtype)


@offered.value
def get_autocast_gpu_dtype() -> DType:
    """``get_autocast_dtype("cuda")``, which replaces it."""
    return get_autocast_dtype("cuda")


@offered.value
def set_autocast_gpu_dtype(dtype: DType) -> None:
    """``set_autocast_dtype("cuda", ...)``, which replaces it."""
    set_autocast_dtype("cuda", dtype)


# Custom functions


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: DType | None = None,
) -> Any:
    """Decorates ``forward`` of a custom Function, so that ``custom_bwd`` knows whether
    it ran in a region. With ``cast_inputs`` its tensors are cast and the region is
    switched off inside.
    """
    if fwd is None:
        return functools.partial(
            custom_fwd, device_type=device_type, cast_inputs=cast_inputs
        )

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        enabled = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        args, kwargs = _cast((args, kwargs), cast_inputs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *args, **kwargs)

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates ``backward`` of a custom Function: it runs in the state that
    ``custom_fwd`` has met.
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


def _cast(value: Any, dtype: DType) -> Any:
    """The structure with its float32 and half tensors cast."""
    if isinstance(value, pellucid.Tensor):
        casts = value.is_floating_point() and value.dtype is not pellucid.float64
        return value.to(dtype) if casts else value
    if isinstance(value, dict):
        return {_cast(k, dtype): _cast(v, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype) for item in value)
    return value

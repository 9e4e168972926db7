"""Rarely used settings of the package, and facts about the build.

Imported lazily (``pellucid/__init__.py``).
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

import pellucid
from pellucid import _C
from pellucid._package.calls import offered

# Libraries that the runtime replaces: linear algebra, products, threads, transforms.
has_lapack = has_openmp = has_spectral = offered.value(True)
has_mkl = offered.value(False)


def user_backend() -> Any:
    """The module that was registered for the user's backend, or None."""
    name = _C._get_privateuse1_backend_name()
    return None if name == "privateuseone" else vars(pellucid).get(name)


def accelerator() -> tuple[str, Any] | None:
    """The name and the module of the accelerator: the user's backend, else CUDA if
    there is a GPU; None without one."""
    backend = user_backend()
    if backend is not None:
        return _C._get_privateuse1_backend_name(), backend
    return ("cuda", get_device_module("cuda")) if _C._find_cuda()[0] else None


@offered.function
def _register_device_module(device_type: str, module: Any) -> None:
    """Makes ``module`` the attribute ``torch.<device_type>``: the functions that answer
    for the devices (``is_available``, ``device_count``, ``current_device``,
    ``manual_seed_all``, ...).

    RuntimeError for a type that has a module.
    """
    device_type = pellucid.device(device_type).type
    present = vars(pellucid).get(device_type)
    if present is not None:
        raise RuntimeError(
            f"The runtime module of '{device_type}' has already been registered with "
            f"'{present}'"
        )
    setattr(pellucid, device_type, module)
    if isinstance(module, ModuleType):
        sys.modules[f"pellucid.{device_type}"] = module


@offered.function
def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device, such as ``torch.cuda``; of the CPU for None."""
    kind = "cpu" if device is None else pellucid.device(device).type
    if kind == _C._get_privateuse1_backend_name():
        registered = user_backend()
        if registered is not None:
            return registered
    try:
        return import_module(f"pellucid.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(f"there is no module of the device {kind!r}") from None


@offered.function
def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switches anomaly mode on or off permanently."""
    _C._set_anomaly(mode, check_nan)


@offered.function
def set_warn_always(b: bool, /) -> None:
    """Whether the package's warnings are shown each time, not once for each place."""
    warnings.filterwarnings("always" if b else "default", module="pellucid")
    global _warns_always
    _warns_always = bool(b)


@offered.function
def is_warn_always_enabled() -> bool:
    """Whether ``set_warn_always(True)`` holds."""
    return _warns_always


_warns_always = False


@offered.function
def set_flush_denormal(mode: bool) -> bool:
    """Flushes denormal numbers to 0, on this thread and its workers; returns whether
    the processor supports it.

    Where values fade, as in decaying states, arithmetic on them may take twenty times
    as long. Example: ``torch.set_flush_denormal(True)``.
    """
    return _C._set_flush_denormal(mode)


@offered.function
def init_num_threads() -> None:
    """Does nothing: threads are started on demand."""


@offered.function
def is_vulkan_available() -> bool:
    """False."""
    return False

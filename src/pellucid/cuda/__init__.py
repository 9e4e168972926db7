"""CUDA devices: there are none.

What PyTorch does without a device is done here too: questions are answered, seeds and
cache calls do nothing, and what needs a device raises.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, NoReturn

from pellucid import AcceleratorError as AcceleratorError
from pellucid import OutOfMemoryError as OutOfMemoryError
from pellucid import Tensor


def is_available() -> bool:
    """False: Pellucid runs on the CPU."""
    return False


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no device."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Does nothing: there is no device whose generator could be seeded."""


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices' generators: an empty list."""
    return []


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set what ``get_rng_state_all`` gave; RuntimeError for the state of a device."""
    if list(new_states):
        raise RuntimeError("the state of a CUDA device's generator: there is no device")


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no device whose generator could be seeded."""


def empty_cache() -> None:
    """Does nothing: there is no device memory."""


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise AssertionError(
        "Pellucid runs on the CPU and has no CUDA devices; ask "
        "torch.cuda.is_available() first, or use device='cpu'"
    )


class _NoDevice:
    """A class of things that only a CUDA device has."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse()


class CUDAGraph(_NoDevice):
    """Recorded work of a device."""


class Event(_NoDevice):
    """A mark in the work of a device."""


class graph(_NoDevice):
    """The recording of work."""


class Stream(_NoDevice):
    """A queue of a device."""


class StreamContext(_NoDevice):
    """The choice of a queue."""


init = _refuse
current_device = _refuse
set_device = _refuse
get_device_name = _refuse
get_device_properties = _refuse
get_device_capability = _refuse
synchronize = _refuse
current_stream = _refuse
memory_allocated = _refuse
max_memory_allocated = _refuse


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module("pellucid.cuda.amp")
    raise AttributeError(f"module 'pellucid.cuda' has no attribute {name!r}")

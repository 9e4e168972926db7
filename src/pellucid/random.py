"""The default random generators: seeds, states, ``fork_rng``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pellucid import _C, Generator, Tensor
from pellucid._C import default_generator
from pellucid._package.calls import offered
from pellucid._package.settings import accelerator, get_device_module, user_backend

__all__ = [
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


@offered.value
def manual_seed(seed: int) -> Generator:
    """Seeds the default generators of the CPU and of all devices; returns the CPU's.

    The module of the user's backend, if there is one, seeds its devices.
    """
    _C._seed_device_generators(int(seed))
    backend = user_backend()
    if backend is not None and not backend._is_in_bad_fork():
        backend.manual_seed_all(int(seed))
    return default_generator.manual_seed(int(seed))


@offered.value
def seed() -> int:
    """Seeds the default generators from the system's randomness; returns the seed."""
    drawn = default_generator.seed()
    _C._seed_device_generators(drawn)
    return drawn


@offered.value
def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


@offered.value
def get_rng_state() -> Tensor:
    """The default generator's state, a uint8 tensor."""
    return default_generator.get_state()


@offered.value
def set_rng_state(new_state: Tensor) -> None:
    """Restores a state returned by :func:`get_rng_state`."""
    default_generator.set_state(new_state)


_warned_of_many = False


def _all_devices(device_type: str, module: Any, caller: str, keyword: str) -> list[Any]:
    """The devices to fork where none are named; one warning if there are several."""
    global _warned_of_many
    count = module.device_count()
    if count > 1 and not _warned_of_many:
        _warned_of_many = True
        warnings.warn(
            f"{caller} saves the states of all {count} {device_type} devices; name "
            f"those that draw: {keyword}=[0]",
            stacklevel=4,
        )
    return list(range(count))


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Restores the states of the default generators at the end of a ``with`` block:
    the CPU's, and those of ``devices`` of a type, by default all of the accelerator's.
    """
    if not enabled or device_type == "meta":
        yield
        return
    places = None if devices is None else list(devices)
    module: Any = None
    if places is None or places:  # else no driver is looked for
        found = accelerator() if device_type is None else (device_type, None)
        kind = "cuda" if found is None else found[0]
        module = get_device_module(kind)
        if places is None:
            places = _all_devices(kind, module, _caller, _devices_kw)
    state = get_rng_state()
    states = [module.get_rng_state(place) for place in places]
    try:
        yield
    finally:
        set_rng_state(state)
        for place, known in zip(places, states, strict=True):
            module.set_rng_state(known, place)


@offered.value
def thread_safe_generator() -> Generator | None:
    """None, which means the default generator: workers of a ``DataLoader`` are
    processes, with default generators of their own.
    """
    return None

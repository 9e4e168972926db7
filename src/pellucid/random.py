"""The default random generator: seeds, states, ``fork_rng``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pellucid import Generator, Tensor
from pellucid._C import default_generator
from pellucid._package.calls import offered
from pellucid._package.settings import user_backend

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
    """Seeds the default generator; returns it.

    The module of the user's backend, if there is one, seeds its devices.
    """
    backend = user_backend()
    if backend is not None and not backend._is_in_bad_fork():
        backend.manual_seed_all(int(seed))
    return default_generator.manual_seed(int(seed))


@offered.value
def seed() -> int:
    """Seeds the default generator from the system's randomness; returns the seed."""
    return default_generator.seed()


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


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Restores the default generator's state at the end of a ``with`` block."""
    if not enabled:
        yield
        return
    if devices:
        raise RuntimeError(
            f"{_caller}: there are no {device_type} devices to fork; leave "
            f"{_devices_kw} out"
        )
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


@offered.value
def thread_safe_generator() -> Generator | None:
    """None, which means the default generator: workers of a ``DataLoader`` are
    processes, with default generators of their own.
    """
    return None

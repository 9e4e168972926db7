"""The states of random generators that a checkpoint restores: the CPU's, and those of
the devices of its arguments.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.utils._pytree import tree_leaves


class DefaultDeviceType:
    """The type of the devices whose random states checkpoints save, where no argument
    is on a device.
    """

    _device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Sets the type."""
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The type."""
        return DefaultDeviceType._device_type


def _tensors_on_devices(args: Any) -> list[Tensor]:
    return [
        leaf
        for leaf in tree_leaves(args)
        if isinstance(leaf, Tensor) and not (leaf.is_cpu or leaf.is_meta)
    ]


def _device_type_of(tensors: Sequence[Tensor]) -> str:
    """The type of their devices; of several CUDA's or the first, with a warning."""
    if not tensors:
        return DefaultDeviceType.get_device_type()
    types = list(dict.fromkeys(t.device.type for t in tensors))
    chosen = "cuda" if "cuda" in types else types[0]
    if len(types) > 1:
        warnings.warn(
            f"checkpoint: its arguments are on devices of the types {types}; it saves "
            f"the random states of {chosen} alone, so others may draw other numbers "
            "when it runs again",
            stacklevel=4,
        )
    return chosen


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of the tensors in ``args``, other than the CPU, and the states of
    their random generators.

    Example::

        devices, states = get_device_states(x)
        y = dropout(x)
        set_device_states(devices, states, device_type=x.device.type)
        torch.equal(dropout(x), y)  # True
    """
    saved = RandomStates.of(args)
    return saved.devices, saved.states


def set_device_states(
    devices: Sequence[int],
    states: Sequence[Tensor],
    *,
    device_type: str | None = None,
) -> None:
    """Restores states from `get_device_states`, of devices of the type ``device_type``,
    by default `DefaultDeviceType`'s; raises for devices that do not exist.
    """
    kind = DefaultDeviceType.get_device_type() if device_type is None else device_type
    if kind == "meta" or not devices:
        return
    module = pellucid.get_device_module(kind)
    for device, state in zip(devices, states, strict=True):
        module.set_rng_state(state, device)


class RandomStates(NamedTuple):
    """The CPU's state, and those of some devices of one type."""

    host: Tensor
    device_type: str
    devices: list[int]
    states: list[Tensor]

    @classmethod
    def of(cls, args: Any) -> RandomStates:
        """Those that a call with these arguments may draw from."""
        tensors = _tensors_on_devices(args)
        kind = _device_type_of(tensors)
        if not tensors:
            return cls(pellucid.get_rng_state(), kind, [], [])
        places = sorted({t.get_device() for t in tensors if t.device.type == kind})
        module = pellucid.get_device_module(kind)
        states = [module.get_rng_state(place) for place in places]
        return cls(pellucid.get_rng_state(), kind, places, states)


@contextmanager
def random_numbers_of(saved: RandomStates | None) -> Iterator[None]:
    """A scope with these states, after which the present ones are restored; None
    changes nothing.
    """
    if saved is None:
        yield
        return
    kind = saved.device_type
    with pellucid.random.fork_rng(devices=saved.devices, device_type=kind):
        pellucid.set_rng_state(saved.host)
        set_device_states(saved.devices, saved.states, device_type=kind)
        yield

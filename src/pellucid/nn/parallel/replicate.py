"""Copies of a module on several devices, whose gradients flow to the module."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from pellucid import Tensor
from pellucid.nn.modules.module import Module

__all__ = ["replicate"]


def replicate(
    network: Module, devices: Sequence[Any], detach: bool = False
) -> list[Module]:
    """A copy of ``network`` for each device. Parameters and buffers of a copy are
    computed from the network's, so that gradients of the copies accumulate in
    ``network``; with ``detach`` they do not.
    """
    return [_copy(network, device, detach, {}) for device in devices]


def _copy(
    module: Module, device: Any, detach: bool, known: dict[int, Module]
) -> Module:
    """``module`` with tensors on ``device``; shared modules remain shared."""
    if id(module) in known:
        return known[id(module)]
    replica = known[id(module)] = copy(module)
    # Not parameters: optimizers hold those of the original.
    replica._parameters, replica._buffers = {}, dict(module._buffers)
    for name, parameter in module._parameters.items():
        replica.__dict__[name] = _moved(parameter, device, detach)
    for name, buffer in module._buffers.items():
        replica._buffers[name] = _moved(buffer, device, True)
    replica._modules = {
        name: None if child is None else _copy(child, device, detach, known)
        for name, child in module._modules.items()
    }
    return replica


def _moved(tensor: Tensor | None, device: Any, detach: bool) -> Tensor | None:
    if tensor is None:
        return None
    moved = tensor.to(device)
    return moved.detach() if detach else moved.view_as(moved)

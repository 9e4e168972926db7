"""Memory formats of convolution weights."""

from __future__ import annotations

from typing import Any, TypeVar

from pellucid.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from pellucid.nn.modules.module import Module

_M = TypeVar("_M", bound=Module)


def convert_conv2d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Converts all 2d convolution weights in ``module``; returns the module.

    Other layers are unchanged, unlike with ``module.to(memory_format=...)``.
    Example::

        >>> import pellucid as torch
        >>> network = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3))
        >>> convert = torch.nn.utils.convert_conv2d_weight_memory_format
        >>> convert(network, torch.channels_last)[0].weight.stride()
        (18, 1, 6, 2)
    """
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """As ``convert_conv2d_weight_memory_format``, for 3d convolutions."""
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: _M, memory_format: Any, kinds: tuple[type[Module], ...]) -> _M:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module

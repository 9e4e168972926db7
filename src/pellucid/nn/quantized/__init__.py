"""``torch.nn.quantized``: the older name of ``torch.ao.nn.quantized``."""

from pellucid.ao.nn.quantized import *  # noqa: F403
from pellucid.ao.nn.quantized import __all__ as __all__


def __getattr__(name: str) -> object:
    """What ``torch.ao.nn.quantized`` has besides."""
    from pellucid.ao.nn import quantized

    return getattr(quantized, name)

"""``torch.nn.quantized``: the former name of ``torch.ao.nn.quantized``."""

from pellucid.ao.nn.quantized import *  # noqa: F403
from pellucid.ao.nn.quantized import __all__ as __all__


def __getattr__(name: str) -> object:
    """Looks up further names in ``torch.ao.nn.quantized``."""
    from pellucid.ao.nn import quantized

    return getattr(quantized, name)

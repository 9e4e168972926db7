"""``torch.nn.intrinsic``: the former name of ``torch.ao.nn.intrinsic``."""

from pellucid.ao.nn.intrinsic import *  # noqa: F403
from pellucid.ao.nn.intrinsic import __all__ as __all__


def __getattr__(name: str) -> object:
    """Looks up further names in ``torch.ao.nn.intrinsic``."""
    from pellucid.ao.nn import intrinsic

    return getattr(intrinsic, name)

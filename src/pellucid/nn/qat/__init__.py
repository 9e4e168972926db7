"""``torch.nn.qat``: the former name of ``torch.ao.nn.qat``."""

from pellucid.ao.nn.qat import *  # noqa: F403
from pellucid.ao.nn.qat import __all__ as __all__


def __getattr__(name: str) -> object:
    """Looks up further names in ``torch.ao.nn.qat``."""
    from pellucid.ao.nn import qat

    return getattr(qat, name)

"""``torch.nn.intrinsic.quantized``: an older name."""

from pellucid.ao.nn.intrinsic.quantized import *  # noqa: F403
from pellucid.ao.nn.intrinsic.quantized import __all__ as __all__

"""``torch.nn.intrinsic.quantized``: a former name."""

from pellucid.ao.nn.intrinsic.quantized import *  # noqa: F403
from pellucid.ao.nn.intrinsic.quantized import __all__ as __all__

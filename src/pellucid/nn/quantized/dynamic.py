"""``torch.nn.quantized.dynamic``: former name of ``torch.ao.nn.quantized.dynamic``."""

from pellucid.ao.nn.quantized.dynamic import *  # noqa: F403
from pellucid.ao.nn.quantized.dynamic import __all__ as __all__

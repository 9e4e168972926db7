"""``torch.nn.quantized.functional``: a former name."""

from pellucid.ao.nn.quantized.functional import *  # noqa: F403
from pellucid.ao.nn.quantized.functional import __all__ as __all__

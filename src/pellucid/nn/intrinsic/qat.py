"""``torch.nn.intrinsic.qat``: the former name of ``torch.ao.nn.intrinsic.qat``."""

from pellucid.ao.nn.intrinsic.qat import *  # noqa: F403
from pellucid.ao.nn.intrinsic.qat import __all__ as __all__

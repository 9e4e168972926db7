"""``torch.nn.qat.dynamic``: the former name of ``torch.ao.nn.qat.dynamic``."""

from pellucid.ao.nn.qat.dynamic import *  # noqa: F403
from pellucid.ao.nn.qat.dynamic import __all__ as __all__

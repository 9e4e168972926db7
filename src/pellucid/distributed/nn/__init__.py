"""``torch.distributed.nn``: collectives with gradients."""

from pellucid.distributed.nn.functional import *  # noqa: F403
from pellucid.distributed.nn.functional import __all__ as __all__

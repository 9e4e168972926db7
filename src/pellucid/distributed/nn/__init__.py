"""``torch.distributed.nn``: collectives with gradients, modules on other workers."""

from pellucid._package.calls.submodules import submodules
from pellucid.distributed.nn.api.remote_module import RemoteModule
from pellucid.distributed.nn.functional import *  # noqa: F403
from pellucid.distributed.nn.functional import __all__ as _collectives

__all__ = ["RemoteModule", *_collectives]

__getattr__ = submodules(__name__)

"""``torch.distributed.algorithms``: uneven inputs, communication hooks, averagers."""

from pellucid._package.calls.submodules import submodules
from pellucid.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

__getattr__ = submodules(__name__)

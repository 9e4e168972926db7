"""``torch.distributed.algorithms``: uneven inputs, communication hooks, averagers."""

from pellucid.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

"""``torch.distributed.rpc.functions``."""

from pellucid.distributed.rpc.api import async_execution

__all__ = ["async_execution"]

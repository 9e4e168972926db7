"""The backends of RPC: one."""

from pellucid.distributed.rpc.api import BackendType as BackendType

__all__ = ["BackendType", "backend_registered"]


def backend_registered(backend_name: str) -> bool:
    """Whether there is a backend of this name, as "TENSORPIPE"."""
    return backend_name in BackendType.__members__

"""``torch.distributed.rpc``: calls in other processes are not offered."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False."""
    return False

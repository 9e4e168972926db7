"""cuDNN: absent; the switches exist for programs that set them."""

enabled = False
benchmark = False
deterministic = False
allow_tf32 = False


def is_available() -> bool:
    """False: there is no cuDNN."""
    return False


def version() -> None:
    """None: there is no cuDNN."""
    return None

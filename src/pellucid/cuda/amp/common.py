"""``torch.cuda.amp.common``: whether mixed precision on CUDA devices is there."""

from pellucid import cuda

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is no CUDA device."""
    return not cuda.is_available()

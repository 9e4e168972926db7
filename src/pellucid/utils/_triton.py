"""What Triton offers here: nothing, for kernels come from Pellucid's own compiler."""

from __future__ import annotations


def has_triton_package() -> bool:
    """False."""
    return False


def has_triton() -> bool:
    """False."""
    return False


def has_triton_tma() -> bool:
    """False."""
    return False


def has_triton_tma_device() -> bool:
    """False."""
    return False


def get_triton_version(fallback: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """``fallback``."""
    return fallback

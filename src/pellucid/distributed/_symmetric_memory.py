"""``torch.distributed._symmetric_memory``: memory of GPUs that ranks read directly.

There are no such devices; what needs one raises, and questions are answered. Ranks of
one machine share memory of the CPU by themselves.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid.distributed._group.world import group_named

__all__ = [
    "empty",
    "enable_symm_mem_for_group",
    "get_backend",
    "get_signal_pad_size",
    "get_symm_mem_workspace",
    "is_nvshmem_available",
    "is_symm_mem_enabled_for_group",
    "is_symm_mem_tensor",
    "rendezvous",
    "set_backend",
    "set_signal_pad_size",
]


def _refuse(device: Any = "cpu") -> NoReturn:
    raise RuntimeError(f"SymmetricMemory does not support device type {device}")


def empty(*size: Any, dtype: Any = None, device: Any = None) -> NoReturn:
    """Raises RuntimeError: no device has such memory."""
    _refuse(device or "cpu")


def rendezvous(tensor: Any, group: Any) -> NoReturn:
    """Raises RuntimeError: no tensor has such memory."""
    _refuse(tensor.device.type)


def get_symm_mem_workspace(group_name: str, min_size: int) -> NoReturn:
    """Raises RuntimeError: no device has such memory."""
    _refuse()


def enable_symm_mem_for_group(group_name: str) -> None:
    """Checks that the group exists: every group may be used."""
    group_named(group_name)


def is_symm_mem_enabled_for_group(group_name: str) -> bool:
    """False."""
    return False


def is_symm_mem_tensor(tensor: Any) -> bool:
    """False."""
    return False


def is_nvshmem_available() -> bool:
    """False."""
    return False


def get_backend(device: Any) -> str | None:
    """None: no device has one."""
    return None


def set_backend(name: str) -> NoReturn:
    """Raises RuntimeError: no device has such memory."""
    _refuse()


_signal_pad_size = 9216


def get_signal_pad_size() -> int:
    """Bytes that ranks signal each other by."""
    return _signal_pad_size


def set_signal_pad_size(size: int) -> None:
    """Sets them."""
    global _signal_pad_size
    _signal_pad_size = size

"""Utilities: hooks; the others are imported lazily."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pellucid._package.calls.submodules import submodules
from pellucid.utils import hooks

if TYPE_CHECKING:
    from pellucid.utils import data

__all__ = ["data", "hooks", "swap_tensors"]


_OF_BACKENDS = (
    "generate_methods_for_privateuse1_backend",
    "rename_privateuse1_backend",
)


def _others(name: str) -> Any:
    if name in _OF_BACKENDS:
        return getattr(import_module("pellucid.utils.backend_registration"), name)
    if name == "swap_tensors":
        return import_module("pellucid.utils._swapping").swap_tensors
    raise AttributeError(f"module 'pellucid.utils' has no attribute {name!r}")


__getattr__ = submodules(__name__, _others)

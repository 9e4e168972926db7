"""Wrappers for modules whose activations are recomputed or offloaded."""

from pellucid._package.calls.submodules import submodules

__getattr__ = submodules(__name__)

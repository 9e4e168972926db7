"""``torch.ops.higher_order``: the ops whose arguments are functions, by name."""

from __future__ import annotations

from importlib import import_module

from pellucid._ops.function_op import REGISTRY, HigherOrderOperator


def by_name(name: str) -> HigherOrderOperator:
    """A registered op. Raises AttributeError if there is none."""
    import_module("pellucid._higher_order_ops")  # registers those of the library
    if name not in REGISTRY:
        raise AttributeError(f"there is no higher-order op {name!r}")
    return REGISTRY[name]

"""``annotate``: the type of a value of a program that is traced."""

from __future__ import annotations

from typing import Any

from pellucid.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """``val``; of a Proxy, the node gets the type. Any other value has its own.

    Raises RuntimeError for a Proxy whose node has a type.
    """
    if not isinstance(val, Proxy):
        return val
    if val.node.type:
        raise RuntimeError(
            f"annotate: {val.node.name} has the type {val.node.type} already; "
            f"{type} was given"
        )
    val.node.type = type
    return val

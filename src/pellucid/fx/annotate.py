"""``annotate``: sets the type of a value in a traced program."""

from __future__ import annotations

from typing import Any

from pellucid.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Returns ``val``; sets the type of the node if it is a Proxy.

    Raises RuntimeError for a Proxy whose node already has a type.
    """
    if not isinstance(val, Proxy):
        return val
    if val.node.type:
        raise RuntimeError(
            f"annotate: {val.node.name} already has the type {val.node.type}; "
            f"{type} was given"
        )
    val.node.type = type
    return val

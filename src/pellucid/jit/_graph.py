"""The classes of TorchScript's graphs, as libraries name them in annotations and
``isinstance``. There are no such graphs: none of these can be made.
"""

from __future__ import annotations

from typing import Any


class _OfScript:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"torch.{type(self).__name__} is a part of TorchScript, which is not "
            "compiled here\nTrace the module with torch.fx.symbolic_trace or "
            "torch.export.export; their graphs have nodes, too."
        )

    def __init_subclass__(cls) -> None:
        cls.__module__ = "pellucid"


class Graph(_OfScript):
    """A TorchScript function; see ``torch.fx.Graph``."""


class Block(_OfScript):
    """A body of a node of one."""


class Node(_OfScript):
    """A call in one; see ``torch.fx.Node``."""


class Value(_OfScript):
    """An input or a result of a node."""

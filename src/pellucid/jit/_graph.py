"""The classes of TorchScript's graphs, as libraries name them in annotations and
``isinstance``. There are no such graphs: none of these can be made.
"""

from __future__ import annotations

from typing import Any

from pellucid._package.calls import offered


class _OfScript:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"torch.{type(self).__name__} is a part of TorchScript, which is not "
            "compiled here\nTrace the module with torch.fx.symbolic_trace or "
            "torch.export.export; their graphs have nodes, too."
        )

    def __init_subclass__(cls) -> None:
        cls.__module__ = "pellucid"


@offered.value
@offered.runtime_value
class Graph(_OfScript):
    """A TorchScript function; see ``torch.fx.Graph``."""


@offered.value
@offered.runtime_value
class Block(_OfScript):
    """A body of a node of one."""


@offered.value
class Node(_OfScript):
    """A call in one; see ``torch.fx.Node``."""


@offered.value
@offered.runtime_value
class Value(_OfScript):
    """An input or a result of a node."""

"""``torch.fx.passes.infra.pass_base``: the base class of passes."""

from __future__ import annotations

import abc
from typing import NamedTuple

from pellucid.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether the pass changed it."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass: ``requires`` may check before, ``ensures`` after, ``call`` changes."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Transforms the module; returns it and whether it changed."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 (optional)
        """Raises if the module does not meet the pass's preconditions."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 (optional)
        """Raises if the module does not meet the pass's postconditions."""

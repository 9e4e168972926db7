"""``torch.fx.passes.graph_transform_observer``: what a pass adds and removes."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node

__all__ = ["GraphTransformObserver"]


class GraphTransformObserver:
    """A scope around a pass: lists the nodes that it creates and erases.

    With ``log_url``, a directory, drawings of the graph before and after are written
    there (needs pydot). Example::

        with GraphTransformObserver(module, "fuse") as observer:
            fuse(module)
        print(observer.created_nodes, observer.erased_nodes)
    """

    def __init__(
        self,
        gm: GraphModule,
        passname: str,
        subsystem: str | None = None,
        log_url: str | None = None,
    ) -> None:
        self.gm, self.passname, self.log_url = gm, passname, log_url
        self.subsystem = subsystem
        self.created_nodes: set[str] = set()
        self.erased_nodes: set[str] = set()
        self.name_to_node: dict[str, Node] = {}

    def apply_gm_pass(self, pass_fn: Any) -> Any:
        """Runs ``pass_fn(gm)`` in the scope."""
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Any) -> Any:
        """Runs ``pass_fn(gm.graph)`` in the scope."""
        with self:
            return pass_fn(self.gm.graph)

    def __enter__(self) -> GraphTransformObserver:
        self._draw("input")
        self._before = {node.name for node in self.gm.graph.nodes}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.name_to_node = {node.name: node for node in self.gm.graph.nodes}
        after = set(self.name_to_node)
        self.created_nodes = after - self._before
        self.erased_nodes = self._before - after
        if self.created_nodes or self.erased_nodes:
            self._draw("output")

    def _draw(self, when: str) -> None:
        if self.log_url is None:
            return
        from pellucid.fx.passes.graph_drawer import FxGraphDrawer

        path = os.path.join(self.log_url, f"{self.passname}_{when}_graph.dot")
        FxGraphDrawer(self.gm, self.passname).get_dot_graph().write(path)

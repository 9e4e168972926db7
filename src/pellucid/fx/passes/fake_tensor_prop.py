"""``torch.fx.passes.fake_tensor_prop``: shapes by running on tensors without data."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.interpreter import Interpreter
from pellucid.fx.node import Node, map_aggregate

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Records a fake tensor in ``meta["val"]`` of every node."""

    def __init__(self, module: GraphModule, mode: Any = None) -> None:
        super().__init__(module)
        from pellucid._subclasses.fake_tensor import FakeTensorMode

        self._mode = mode if mode is not None else FakeTensorMode()

    def run_node(self, n: Node) -> Any:
        """Runs the node and records its value."""
        result = super().run_node(n)
        found = False

        def extract(value: Any) -> Any:
            nonlocal found
            if isinstance(
                value, pellucid.Tensor | pellucid.SymInt | int | float | bool
            ):
                found = True
                return value
            return None

        meta = map_aggregate(result, extract)
        if found:
            n.meta["val"] = meta
        return result

    def fetch_attr(self, target: str) -> Any:
        """A fake tensor for each parameter and buffer."""
        value = super().fetch_attr(target)
        is_tensor = isinstance(value, pellucid.Tensor)
        return self._mode.from_tensor(value) if is_tensor else value

    def propagate(self, *args: Any) -> Any:
        """Runs the module on fake versions of these arguments."""
        fake = [
            self._mode.from_tensor(a) if isinstance(a, pellucid.Tensor) else a
            for a in args
        ]
        return self.propagate_dont_convert_inputs(*fake)

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Runs the module on arguments that are already fake."""
        with self._mode:
            return super().run(*args)

"""The tracer for graphs of ops, which maps tensors to their nodes."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.fx._symbolic_trace import Tracer
from pellucid.fx.graph import Graph
from pellucid.fx.node import Node
from pellucid.fx.proxy import Proxy
from pellucid.nn import Module

__all__ = ["PythonKeyTracer"]


class PythonKeyTracer(Tracer):
    """Makes the nodes; tensors that are not inputs become attributes."""

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        self.root: Module = Module()
        self.graph = Graph(tracer_cls=PythonKeyTracer)
        self.tensor_attrs: dict[Any, str] = {}
        self.proxies: dict[int, tuple[Any, Proxy]] = {}
        self.called_function: tuple[str, str] | None = None  # called_functions.py

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        """Makes the Node, with the public function that was called."""
        node = super().create_node(*args, **kwargs)
        if self.called_function and node.op == "call_function":
            node.meta.setdefault("torch_fn", self.called_function)
        return node

    def note(self, value: Any, proxy: Proxy) -> None:
        """Sets the node of a tensor, which is kept alive as long as the trace."""
        self.proxies[id(value)] = value, proxy

    def proxy_of(self, value: Any) -> Any:
        """The Proxy of a tensor; creates one for a constant."""
        known = self.proxies.get(id(value))
        if known is not None:
            return known[1]
        proxy = self.proxy(self._tensor_argument(value))
        proxy.node.meta["val"] = value
        self.note(value, proxy)
        return proxy

    def _tensor_argument(self, a: Tensor) -> Node:
        name = self.get_fresh_qualname("_tensor_constant")
        if isinstance(a, pellucid.nn.Parameter):
            name = self.get_fresh_qualname("_param_constant")
        setattr(self.root, name, a)
        return self.create_node("get_attr", name, (), {})

"""``torch.fx.experimental.normalize``: equal calls of a graph in one form."""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import pellucid
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.interpreter import Transformer
from pellucid.fx.node import Node
from pellucid.fx.operator_schemas import normalize_function, normalize_module
from pellucid.fx.proxy import Proxy

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Gives all arguments of calls by keyword where the signature is known, and adds
    defaults; with ``normalize_to_only_use_kwargs=False`` positional ones stay so.

    Example::

        module = NormalizeArgs(traced).transform()
    """

    def __init__(
        self, module: GraphModule, normalize_to_only_use_kwargs: bool = True
    ) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if n.op == "call_function":
            made = self.call_function(n.target, args, kwargs, self._types(n))
        else:
            made = super().run_node(n)
        if n.op != "output" and isinstance(made, Proxy):
            self.node_map[made] = n
            made.node.meta, made.node.type = n.meta, n.type
        return made

    def _types(self, n: Node) -> tuple[Any, Any]:
        def type_of(value: Any) -> Any:
            return value.type if isinstance(value, Node) else type(value)

        return (
            tuple(type_of(a) for a in n.args),
            {k: type_of(v) for k, v in n.kwargs.items()},
        )

    def call_function(
        self, target: Any, args: Any, kwargs: Any, types: Any = None
    ) -> Any:
        arg_types, kwarg_types = types or (None, None)
        normalized = normalize_function(
            *(target, args, kwargs, arg_types, kwarg_types),
            self.normalize_to_only_use_kwargs,
        )
        if normalized is not None:
            args, kwargs = normalized
        return super().call_function(target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        normalized = normalize_module(
            *(self.module, target, args, kwargs), self.normalize_to_only_use_kwargs
        )
        if normalized is not None:
            args, kwargs = normalized
        return super().call_module(target, args, kwargs)


class NormalizeOperators(Transformer):
    """Replaces functions that equal an operator of Python by it:
    ``torch.add(x, y)`` becomes ``x + y``.
    """

    binary_magic_method_remap: ClassVar[dict[Any, Any]] = {
        pellucid.add: operator.add,
        pellucid.mul: operator.mul,
        pellucid.sub: operator.sub,
        pellucid.div: operator.truediv,
        pellucid.floor_divide: operator.floordiv,
        pellucid.remainder: operator.mod,
        pellucid.eq: operator.eq,
        pellucid.ne: operator.ne,
        pellucid.lt: operator.lt,
        pellucid.le: operator.le,
        pellucid.gt: operator.gt,
        pellucid.ge: operator.ge,
    }

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        plain = self.binary_magic_method_remap.get(target)
        if plain is None or len(args) != 2 or kwargs:
            return super().call_function(target, args, kwargs)
        return super().call_function(plain, args, {})

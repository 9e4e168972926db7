"""Common subexpressions: calls of ops with the same arguments become one."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.infra.pass_base import PassBase, PassResult
from pellucid.utils import _pytree as pytree

__all__ = ["CSEPass", "get_CSE_banned_ops"]


def get_CSE_banned_ops() -> set[Any]:
    """Ops whose calls are not alike though their arguments are: they draw, or give
    memory that was not written.
    """
    names = (
        *("dropout", "rand", "rand_like", "randn", "randn_like", "randint", "randperm"),
        *("bernoulli", "multinomial", "normal", "native_dropout", "rrelu"),
        *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"),
    )
    return {getattr(pellucid.ops.aten, name) for name in names}


class CSEPass(PassBase):
    """Leaves the first of equal calls in a graph of ``torch.ops`` calls.

    Calls that write an argument, or of ``banned_ops``, stay. ``CSEPass()(module)``
    gives a PassResult with the new module.
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = banned_ops or set()
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        """The module with the shorter graph, and whether anything changed."""
        graph = Graph()
        env: dict[Node, Node] = {}
        seen: dict[Any, Node] = {}
        modified = False
        for node in graph_module.graph.nodes:
            if self._stays(node):
                if node.op == "output":
                    graph.output(_mapped(node.args[0], env))
                    continue
                env[node] = graph.node_copy(node, lambda n: env[n])
                if node.op == "call_function" and _writes(node):
                    seen.clear()  # what was read before has other values now
                continue
            args, kwargs = _mapped((node.args, node.kwargs), env)
            leaves, spec = pytree.tree_flatten((args, kwargs))
            key = (node.target, str(spec), *((type(x), _hashable(x)) for x in leaves))
            if key in seen:
                env[node] = seen[key]
                modified = True
                continue
            env[node] = seen[key] = graph.node_copy(node, lambda n: env[n])
        return PassResult(GraphModule(graph_module, graph), modified)

    def _stays(self, node: Node) -> bool:
        if node.op != "call_function" or _writes(node):
            return True
        packet = getattr(node.target, "overloadpacket", None)
        return packet in self.banned_ops or packet in get_CSE_banned_ops()


def _mapped(value: Any, env: dict[Node, Node]) -> Any:
    return pellucid.fx.node.map_arg(value, lambda n: env[n])


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _writes(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return bool(schema is not None and schema.is_mutable)

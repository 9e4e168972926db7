"""Common subexpression elimination: calls of ops with the same arguments become one."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import pellucid
from pellucid import _C
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.infra.pass_base import PassBase, PassResult
from pellucid.utils import _pytree as pytree

__all__ = ["CSEPass", "get_CSE_banned_ops"]


def get_CSE_banned_ops() -> set[Any]:
    """Ops that draw random numbers, by the tags of their declarations: two calls with
    the same arguments differ.
    """
    names = (name for name, *_ in _C._list_ops())
    drawing = (name for name in names if _draws(_C._op_facts(name)[1].split()))
    stems = {name.partition(".")[0].partition("::")[::2] for name in drawing}
    return {getattr(getattr(pellucid.ops, space), name) for space, name in stems}


def _draws(tags: list[str]) -> bool:
    return pellucid.Tag.nondeterministic_seeded.name in tags


class CSEPass(PassBase):
    """Replaces equal calls in a graph of ``torch.ops`` calls by the first one.

    It keeps calls that draw random numbers, that write to an argument, whose result is
    written later, and of ``banned_ops``, which are op packets. ``CSEPass()(module)``
    returns a PassResult with the new module.
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
        written = _written(graph_module.graph.nodes)
        for node in graph_module.graph.nodes:
            if node in written or self._stays(node):
                if node.op == "output":
                    graph.output(_mapped(node.args[0], env))
                    continue
                env[node] = graph.node_copy(node, lambda n: env[n])
                if node.op == "call_function" and _writes(node):
                    seen.clear()  # values read before have changed
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
        tags = [tag.name for tag in getattr(node.target, "tags", ())]
        return packet in self.banned_ops or _draws(tags)


def _mapped(value: Any, env: dict[Node, Node]) -> Any:
    return pellucid.fx.node.map_arg(value, lambda n: env[n])


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _written(nodes: Iterable[Node]) -> set[Node]:
    """The nodes whose memory some call writes, directly or through a view."""
    found: set[Node] = set()
    for node in reversed(list(nodes)):
        target: Any = node.target
        if node.op != "call_function":
            continue
        if _writes(node):
            names = [a.name for a in target._schema.arguments]
            given = dict(zip(names, node.args, strict=False)) | node.kwargs
            places = [given.get(a.name) for a in target._schema.arguments if a.is_write]
            found.update(x for x in pytree.tree_leaves(places) if isinstance(x, Node))
        elif node in found and (
            target is operator.getitem or getattr(target, "is_view", False)
        ):
            found.update(node.all_input_nodes[:1])
    return found


def _writes(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return bool(schema is not None and schema.is_mutable)

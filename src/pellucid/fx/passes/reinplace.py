"""``torch.fx.passes.reinplace``: calls write into memory that nothing reads afterwards.

A call of an op becomes one of its in-place form where its first operand is a value of
the graph itself (no input of it, nor a view of one), has the result's dtype, device and
sizes, none of its elements shares memory with another one or with another operand, and
no later node reads it or a view of it.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.fake_tensor_prop import FakeTensorProp

__all__ = ["reinplace"]


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Changes a functional graph of ops, as ``make_fx`` gives it, so that it allocates
    less; returns it. ``sample_args`` are inputs that tell the sizes.

    Example::

        graph = make_fx(f)(x)
        reinplace(graph, x)
        print(graph.code)  # torch.ops.aten.add_.Tensor(clone, 1)
    """
    FakeTensorProp(gm).propagate(*sample_args)
    groups = _Memory(gm)
    order = {node: number for number, node in enumerate(gm.graph.nodes)}
    for node in list(gm.graph.nodes):
        form = _in_place_form(node)
        if form is None:
            continue
        owner = node.args[0]
        sharing = groups.sharing(owner)
        is_read_later = any(
            order[user] > order[node] for each in sharing for user in each.users
        )
        others = {n for n in node.all_input_nodes if n is not owner}
        if is_read_later or not others.isdisjoint(sharing):
            continue
        if not groups.is_own(owner) or not _fits(owner, node):
            continue
        node.target = form
        groups.unite(owner, node)
        node.replace_all_uses_with(owner)
    gm.graph.lint()
    gm.recompile()
    return gm


class _Memory:
    """Which nodes share memory, and whether it is the graph's own."""

    def __init__(self, gm: GraphModule) -> None:
        self.root: dict[Node, Node] = {}
        for node in gm.graph.nodes:
            self.root[node] = self._source(node)

    def _source(self, node: Node) -> Node:
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None:
            given = [n for n in node.all_input_nodes if node.op == "call_function"]
            return self.root[given[0]] if given else node  # getitem and others
        for argument, value in zip(schema.arguments, node.args, strict=False):
            if argument.alias_info is not None and isinstance(value, Node):
                return self.root[value]
        return node

    def sharing(self, node: Any) -> list[Node]:
        return [n for n, root in self.root.items() if root is self.root[node]]

    def is_own(self, node: Any) -> bool:
        return self.root[node].op == "call_function"

    def unite(self, owner: Any, node: Node) -> None:
        root, merged = self.root[owner], self.root[node]
        for each, known in self.root.items():
            if known is merged:
                self.root[each] = root


def _in_place_form(node: Node) -> Any:
    """The overload of the op's in-place form, or None."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not node.args or not isinstance(node.args[0], Node):
        return None
    is_functional = all(a.alias_info is None for a in schema.arguments)
    namespace, _, name = schema.name.partition("::")
    packet = getattr(getattr(pellucid.ops, namespace), f"{name}_", None)
    if not is_functional or packet is None:
        return None
    wanted = str(schema.overload_name) or "default"
    return getattr(packet, wanted, None) if wanted in packet.overloads() else None


def _fits(owner: Node, node: Node) -> bool:
    old, new = owner.meta.get("val"), node.meta.get("val")
    if not isinstance(old, pellucid.Tensor) or not isinstance(new, pellucid.Tensor):
        return False
    sizes = zip(old.shape, old.stride(), strict=True)
    is_expanded = any(size > 1 and stride == 0 for size, stride in sizes)
    alike = (old.shape, old.dtype, old.device) == (new.shape, new.dtype, new.device)
    return alike and not is_expanded

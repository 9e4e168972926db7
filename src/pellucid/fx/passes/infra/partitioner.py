"""``torch.fx.passes.infra.partitioner``: partitions a graph for a backend."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from pellucid.fx._names import qualified_name
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.operator_support import OperatorSupportBase
from pellucid.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """Nodes that become one module."""

    def __init__(
        self, id: int | None = None, nodes: Iterable[Node] | None = None
    ) -> None:
        self.id = id
        self.nodes: dict[Node, int | None] = dict.fromkeys(nodes or ())

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node) -> None:
        """Adds a node."""
        self.nodes[node] = None

    def remove_node(self, node: Node) -> None:
        """Removes a node."""
        del self.nodes[node]

    def size(self) -> int:
        """The number of nodes."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Groups the nodes that ``operator_support`` accepts into few modules.

    Groups form no cycles with nodes outside. Groups of one node
    are dropped unless ``allows_single_node_partition``; nodes whose targets' names are
    in ``non_compute_ops`` do not count. Example::

        support = create_op_support(lambda modules, node: node.target is operator.add)
        fused = CapabilityBasedPartitioner(graph_module, support).partition_and_fuse()
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = set(non_compute_ops or ())
        self.allowed_single_node_partition_ops = set(
            allowed_single_node_partition_ops or ()
        )

    def propose_partitions(self) -> list[Partition]:
        """The groups, last of the graph first. A ``getitem`` is grouped with its
        operand.
        """
        growing = _Growing()
        modules = dict(self.graph_module.named_modules())
        for node in reversed(self.graph_module.graph.nodes):
            calls = node.op not in ("placeholder", "get_attr", "output")
            if calls and self.operator_support.is_node_supported(modules, node):
                growing.join(node)
            else:
                growing.put(node, None)
        partitions, found = growing.partitions, growing.found
        for node in self.graph_module.graph.nodes:
            if node.target is operator.getitem and node.args[0] in found:
                if node in found:
                    partitions[found[node]].remove_node(node)
                found[node] = found[node.args[0]]
                partitions[found[node]].add_node(node)
        return [p for p in partitions if p.size() and self._is_worth(p)]

    def _is_worth(self, partition: Partition) -> bool:
        if self.allows_single_node_partition:
            return True
        names = [_name(node) for node in partition.nodes if node.op == "call_function"]
        if self.allowed_single_node_partition_ops.intersection(names):
            return True
        ignored = sum(
            name in self.non_compute_ops or name == "_operator.getitem"
            for name in names
        )
        return bool(partition.size() - ignored > 1)

    def fuse_partitions(
        self, partitions: list[Partition], prefix: str = "fused_"
    ) -> GraphModule:
        """The groups as modules ``fused_0``, ``fused_1``, ... of the graph module."""
        groups = [partition.nodes for partition in partitions]
        return fuse_by_partitions(self.graph_module, groups, prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Removes nodes that compute nothing from the ends of each group."""
        for partition in partitions:
            while ends := [n for n in partition.nodes if self._is_end(n, partition)]:
                for node in ends:
                    partition.remove_node(node)

    def _is_end(self, node: Node, partition: Partition) -> bool:
        if node.op != "call_function" or _name(node) not in self.non_compute_ops:
            return False
        reads_none = not any(n in partition.nodes for n in node.all_input_nodes)
        return reads_none or not any(n in partition.nodes for n in node.users)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """``fuse_partitions`` of ``propose_partitions``."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


class _Growing:
    """Builds groups while visiting nodes from last to first.

    Sets of groups are bit sets in ints, such as the groups downstream of a node.
    """

    def __init__(self) -> None:
        self.partitions: list[Partition] = []
        self.found: dict[Node, int] = {}  # node → its group
        self._readers: dict[Node, int] = {}  # node → groups downstream of it
        self._readers_of_group: list[int] = []

    def join(self, node: Node) -> None:
        """Adds the node to the first group where it causes no cycle, or to a new
        one.
        """
        for number in range(len(self.partitions)):
            if not self._all_behind(self._outside(node, number)) >> number & 1:
                return self.put(node, number)
        self.partitions.append(Partition(len(self.partitions)))
        self._readers_of_group.append(0)
        self.put(node, len(self.partitions) - 1)

    def put(self, node: Node, number: int | None) -> None:
        """Assigns the node to a group, or to none."""
        readers = 0
        for user in node.users:
            readers |= self._readers[user] | self._bit(user)
        self._readers[node] = readers
        if number is not None:
            self.partitions[number].add_node(node)
            self.found[node] = number
            self._readers_of_group[number] |= readers & ~(1 << number)

    def _bit(self, node: Node) -> int:
        return 1 << self.found[node] if node in self.found else 0

    def _outside(self, node: Node, number: int) -> int:
        """The other groups downstream of a group if it contained the node."""
        readers = 0
        for user in node.users:
            if self.found.get(user) != number:
                readers |= self._readers[user] | self._bit(user)
        return readers

    def _all_behind(self, groups: int) -> int:
        """The groups and all groups downstream of them."""
        while True:
            wider = groups
            for number, readers in enumerate(self._readers_of_group):
                if groups >> number & 1:
                    wider |= readers
            if wider == groups:
                return groups
            groups = wider


def _name(node: Node) -> Any:
    return qualified_name(node.target) if callable(node.target) else node.target

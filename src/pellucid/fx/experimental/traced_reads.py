"""``TracedReads``: the numbers that a traced program reads from tensors.

Called by ``symbolic_trace.py``, which traces with several values of each. The first
trace takes the example's, which the graph so far gives for the example's inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.registry import unseen
from pellucid.fx.experimental.op_tracer import PythonKeyTracer
from pellucid.fx.node import Node, map_arg
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import ShapeEnv
from pellucid.utils._symbolic.reads import Reads


class TracedReads(Reads):
    """Reads that are nodes of a trace; ``leaves`` are the example's inputs."""

    are_repeated = True

    def __init__(self, env: ShapeEnv, leaves: Sequence[Any]) -> None:
        super().__init__(env)
        self.leaves = leaves
        self.sees_composites = False  # the trace does
        self.are_asserted = True  # the ranges, in the graph
        self.tracer: PythonKeyTracer | None = None  # of the calls that are recorded
        self.nodes: dict[str, Node] = {}  # what read each symbol, in this run
        self._unnamed: list[str] = []  # symbols that no node has yet
        self._values: dict[Node, Any] = {}

    def begin(self, point: Mapping[str, int], run: int) -> None:
        """Starts a trace."""
        super().begin(point, run)
        self.nodes, self._values, self._unnamed = {}, {}, []

    def number(self, tensor: Any) -> Any:
        """The element, by a node of ``aten.item`` where calls are recorded."""
        made = super().number(tensor)
        if self.tracer is not None:
            ops = pellucid.ops.aten
            name = "item" if self.sees_composites else "_local_scalar_dense"
            item = getattr(ops, name).default
            proxy = self.tracer.proxy_of(tensor)
            node = self.tracer.create_proxy(
                "call_function", item, (proxy,), {}, name
            ).node
            node.meta["val"] = made
            self.note(node)
        return made

    def integer(self, *args: Any) -> Any:
        """The next integer."""
        made = super().integer(*args)
        self._unnamed.append(self.symbols[self._integers - 1].name)
        return made

    def _float(self, example: Any) -> Any:
        made = super()._float(example)
        self._unnamed.append(made.operands[1])
        return made

    def note(self, node: Node) -> None:
        """The call of ``node`` read what has been read since the last one."""
        self.nodes.update(dict.fromkeys(self._unnamed, node))
        self._unnamed.clear()

    @contextmanager
    def recorded_by(self, tracer: PythonKeyTracer | None) -> Iterator[None]:
        """A scope of calls that this tracer records, or that none does."""
        before, self.tracer = self.tracer, tracer
        try:
            yield
        finally:
            self.tracer = before

    # Examples.

    def example(self, tensor: Any) -> Any:
        """The element in the example."""
        found = self.example_of(lambda x: x, (tensor,), {})
        return None if found is None else found.item()

    def example_of(self, function: Any, args: Any, kwargs: Any) -> Any:
        """The result for the example's tensors; None if they are not known."""
        if self.tracer is None:
            return None
        known = {key: p.node for key, (_, p) in self.tracer.proxies.items()}
        tensors = [x for x in pytree.tree_leaves((args, kwargs)) if _is_tensor(x)]
        if any(id(tensor) not in known for tensor in tensors):
            return None
        with pellucid.random.fork_rng(devices=()), unseen(), pellucid.no_grad():
            args, kwargs = pytree.tree_map_only(
                Tensor, lambda x: self._value(known[id(x)]), (args, kwargs)
            )
            return function(*args, **kwargs)

    def _value(self, node: Node) -> Any:
        """The example's value of a node: all before it run, in their order."""
        inputs = iter(self.leaves)
        for each in node.graph.nodes:
            leaf = next(inputs, None) if each.op == "placeholder" else None
            if each not in self._values:
                self._values[each] = self._computed(each, leaf)
            if each is node:
                break
        return self._values[node]

    def _computed(self, node: Node, leaf: Any) -> Any:
        if node.op == "placeholder":
            is_tensor = isinstance(leaf, Tensor)
            return leaf.detach().clone() if is_tensor else leaf
        if node.op == "get_attr":
            assert self.tracer is not None
            return getattr(self.tracer.root, str(node.target))
        target: Any = node.target
        args, kwargs = map_arg((node.args, node.kwargs), self._values.__getitem__)
        return target(*args, **kwargs)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)

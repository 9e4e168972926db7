"""Graphs of calls: what ``torch.jit._get_trace_graph`` records of one run.

Libraries that count operations read their nodes, whose kinds and arguments are those of
PyTorch's traces: an op's name, its arguments in the order of its schema, and the scopes
that the library pushed. They do not run; made by ``_tracing.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pellucid import Tensor
from pellucid._package.calls import offered


@offered.value
@offered.runtime_value
class Value:
    """An input or a result of a node, or a constant."""

    def __init__(self, held: Any, node: Node | None, number: int) -> None:
        self._node, self._number = node, number
        self._sizes = list(held.shape) if isinstance(held, Tensor) else None
        self._dtype = held.dtype if isinstance(held, Tensor) else None
        self._constant = None if isinstance(held, (Tensor, list)) else held

    def node(self) -> Node | None:
        """The node that makes it; None for inputs of the graph and constants."""
        return self._node

    def debugName(self) -> str:
        return str(self._number)

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor; its sizes are known."""
        return self._sizes is not None

    def toIValue(self) -> Any:
        """The constant; None for tensors and lists."""
        return self._constant

    def type(self) -> Value:
        """What has ``sizes`` and ``dtype``: the value itself."""
        return self

    def sizes(self) -> list[int] | None:
        return self._sizes

    def dtype(self) -> Any:
        return self._dtype

    def __repr__(self) -> str:
        shown = f" : {self._dtype}{self._sizes}" if self.isCompleteTensor() else ""
        return f"%{self._number}{shown}"


@offered.value
class Node:
    """A call: an op, or a list of values (``prim::ListConstruct``)."""

    def __init__(self, kind: str, scope: str, inputs: Sequence[Value]) -> None:
        self._kind, self._scope = kind, scope
        self._inputs = list(inputs)
        self._outputs: list[Value] = []

    def kind(self) -> str:
        return self._kind

    def scopeName(self) -> str:
        """The names of the scopes around the call, separated by slashes."""
        return self._scope

    def inputs(self) -> Iterator[Value]:
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        return iter(self._outputs)

    def __repr__(self) -> str:
        results = ", ".join(map(str, self._outputs))
        inputs = ", ".join(f"%{v.debugName()}" for v in self._inputs)
        return f"{results} = {self._kind}({inputs})"


@offered.value
@offered.runtime_value
class Block:
    """A body of a node; recorded calls have none."""


@offered.value
@offered.runtime_value
class Graph:
    """The calls of one run, in order."""

    def __init__(self) -> None:
        self._inputs: list[Value] = []
        self._outputs: list[Value] = []
        self._nodes: list[Node] = []

    def inputs(self) -> Iterator[Value]:
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        return iter(self._outputs)

    def nodes(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self._inputs))
        lines = [f"graph({inputs}):", *(f"  {node}" for node in self._nodes)]
        outputs = ", ".join(f"%{v.debugName()}" for v in self._outputs)
        return "\n".join([*lines, f"  return ({outputs})"])

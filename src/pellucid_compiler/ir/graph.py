"""Graph: straight-line SSA of primitive calls over tensors with symbolic sizes.

A forward pass, a derivative, a composite op and a captured model are all Graphs.
``emit`` appends a primitive call and finds an equal earlier one; ``inline`` copies a
Graph into another. The six primitives are in primitives/; transforms/ holds
Graph-to-Graph functions. Read next: primitives/loop.py, verify.py, interpret.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Hashable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.equal_sizes import EqualSizes
from pellucid_compiler.ir.expr import Expr, sym
from pellucid_compiler.ir.traversal import symbols

Shape: TypeAlias = "tuple[Expr, ...]"
OutputType: TypeAlias = "tuple[Shape, str]"


class Value:
    """One tensor of a Graph: a shape of size Exprs and a dtype."""

    __slots__ = ("dtype", "name", "node", "shape")

    def __init__(
        self,
        shape: Iterable[Expr],
        dtype: str,
        node: Node | None = None,
        name: str | None = None,
    ) -> None:
        self.shape: Shape = tuple(shape)
        self.dtype = dtype
        self.node = node
        self.name = name

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def differentiable(self) -> bool:
        return is_float(self.dtype)

    def __repr__(self) -> str:
        return f"<value {self.name or ''}: {self.dtype}{list(self.shape)}>"


class Node:
    """A primitive applied to values; ``attrs`` is the primitive's own immutable
    record.
    """

    __slots__ = ("attrs", "inputs", "outputs", "primitive")

    def __init__(
        self, primitive: Primitive, inputs: tuple[Value, ...], attrs: Any
    ) -> None:
        self.primitive = primitive
        self.inputs = inputs
        self.attrs = attrs
        types = primitive.infer(inputs, attrs)
        self.outputs = tuple(Value(shape, dtype, self) for shape, dtype in types)


class Requirement(NamedTuple):
    """A precondition of sizes and numbers, checked before the Graph runs.

    ``message`` is a format string for the values of ``given``. Not ``on_meta``: it
    says which elements exist, so that tensors on Meta, which have none, need not meet
    it.
    """

    condition: Expr
    message: str
    given: tuple[Expr, ...]
    error: type[Exception]
    on_meta: bool = True


class Graph:
    """Inputs, nodes in execution order, outputs, and preconditions.

    ``saved`` are additional values that a derivative may read instead of recomputing
    them: a declaration's ``save_for_backward``. ``sizes``: the sizes that are equal by
    its requirements and the guards of its trace.
    """

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.saved: list[Value] = []
        self.requirements: list[Requirement] = []
        self.sizes = EqualSizes()
        self._emitted: dict[Hashable, Node] = {}
        self._required: set[Expr] = set()
        self._num_counts = 0

    def input(
        self, shape: Iterable[Expr], dtype: str, name: str | None = None
    ) -> Value:
        value = Value(shape, dtype, name=name)
        self.inputs.append(value)
        return value

    def input_like(self, value: Value) -> Value:
        return self.input(value.shape, value.dtype, value.name)

    def emit(
        self, primitive: Primitive, inputs: Sequence[Value], attrs: Any
    ) -> tuple[Value, ...]:
        """The outputs of ``primitive`` applied to ``inputs``, appended if it is new."""
        key = (primitive, tuple(inputs), attrs)
        node = self._emitted.get(key)
        if node is None:
            node = self._emitted[key] = Node(primitive, tuple(inputs), attrs)
            self.nodes.append(node)
        return node.outputs

    def fresh_count(self) -> Expr:
        """A new symbol for a size that depends on data."""
        self._num_counts += 1
        return sym(f"count.{self._num_counts}")

    def require(self, requirement: Requirement) -> None:
        if len(self._required) != len(self.requirements):  # they were assigned
            self._required = {r.condition for r in self.requirements}
        if requirement.condition not in self._required:
            self._required.add(requirement.condition)
            self.requirements.append(requirement)
            self.sizes.add(requirement.condition)

    def respell_inputs(self) -> None:
        """Rewrite the inputs' shapes with the representatives of equal sizes.

        A later loop over one is then known to be in bounds of the other, and a size of
        1 has no axis.
        """
        for value in self.inputs:
            value.shape = tuple(map(self.sizes.find, value.shape))

    def copy_node(self, node: Node, env: dict[Value, Value]) -> tuple[Value, ...]:
        """Emit another Graph's ``node`` here; ``env`` maps its values to this
        Graph's.
        """
        inputs = [env[value] for value in node.inputs]
        outputs = self.emit(node.primitive, inputs, node.attrs)
        env.update(zip(node.outputs, outputs, strict=True))
        return outputs

    def inline(self, other: Graph, arguments: Sequence[Value]) -> list[Value]:
        """Append ``other``'s nodes applied to ``arguments``; its outputs, here."""
        env = dict(zip(other.inputs, arguments, strict=True))
        for node in other.nodes:
            self.copy_node(node, env)
        for requirement in other.requirements:
            self.require(requirement)
        return [env[value] for value in other.outputs]

    def with_outputs(self, outputs: Iterable[Value]) -> Graph:
        """The part of this Graph, with the same nodes, that computes ``outputs``."""
        part = Graph(self.name)
        part.inputs, part.nodes = list(self.inputs), self.nodes
        part.outputs, part.requirements = list(outputs), list(self.requirements)
        part.sizes = self.sizes.copy()
        part._emitted, part._num_counts = self._emitted, self._num_counts
        return part.prune()

    def prune(self) -> Graph:
        """Remove the nodes that no output depends on, by its values or its sizes."""
        results = [*self.outputs, *self.saved]
        live, needed = set(results), []
        counts = self._counts_of(results)
        for node in reversed(self.nodes):
            if not live.isdisjoint(node.outputs) or node in counts:
                needed.append(node)
                live.update(node.inputs)
        self.nodes = needed[::-1]
        remaining = set(needed)
        self._emitted = {k: n for k, n in self._emitted.items() if n in remaining}
        return self

    def _counts_of(self, values: Iterable[Value]) -> set[Node]:
        """The nodes that bind a count on which the shapes of ``values`` depend."""
        nodes = {n.attrs.size: n for n in self.nodes if n.primitive.name == "nonzero"}
        if not nodes:
            return set()
        sizes = symbols(*(size for value in values for size in value.shape))
        return {nodes[size] for size in sizes if size in nodes}

    def uses(self) -> Uses:
        """The current use lists of the Graph: O(nodes), so call it once per pass."""
        return Uses(self.nodes, self.outputs)

    def used_inputs(self) -> list[int]:
        """The positions of the inputs that a node or an output reads."""
        used = set(self.outputs)
        for node in self.nodes:
            used.update(node.inputs)
        return [k for k, value in enumerate(self.inputs) if value in used]

    def __repr__(self) -> str:
        from pellucid_compiler.ir.show import show_graph

        return show_graph(self)


class Uses:
    """Use lists: which nodes read each value, which values are outputs.

    A pass takes them once and queries them instead of walking all nodes; they do not
    follow later changes of the Graph.
    """

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[Value]) -> None:
        self.outputs = frozenset(outputs)
        self._positions = {node: k for k, node in enumerate(nodes)}
        self._readers: dict[Value, list[Node]] = {}
        for node in nodes:
            for value in dict.fromkeys(node.inputs):
                self._readers.setdefault(value, []).append(node)

    def readers(self, value: Value) -> Sequence[Node]:
        """The nodes that read ``value``, each once, in order of execution."""
        return self._readers.get(value, ())

    def only_reader(self, value: Value) -> Node | None:
        """The only reader of ``value``, which is not an output; else None."""
        readers = self.readers(value)
        return readers[0] if len(readers) == 1 and not self.is_output(value) else None

    def is_output(self, value: Value) -> bool:
        return value in self.outputs

    def is_read(self, value: Value, outside: Container[Node] = ()) -> bool:
        """Whether ``value`` is an output or read by a node not in ``outside``."""
        return self.is_output(value) or any(
            node not in outside for node in self.readers(value)
        )

    def is_read_after(self, value: Value, node: Node) -> bool:
        """Whether ``value`` is an output or read by a node that runs after ``node``."""
        position = self._positions[node]
        return self.is_output(value) or any(
            self._positions[reader] > position for reader in self.readers(value)
        )


class Primitive(ABC):
    """One kind of node. There are six; ops add none.

    A primitive infers its outputs' types, and checks, prints and evaluates its nodes;
    its derivative, transpose and batching rules are in transforms/.
    """

    name: ClassVar[str]

    @abstractmethod
    def infer(self, inputs: Sequence[Value], attrs: Any) -> list[OutputType]:
        """(shape, dtype) of each output."""

    @abstractmethod
    def evaluate(self, node: Node, args: list[Any], env: dict[str, Any]) -> list[Any]:
        """The outputs as arrays; ``env`` holds the sizes and numbers by name."""

    def verify(self, node: Node) -> None:  # noqa: B027 - most have nothing to check
        """Raise ``VerificationError`` if the node breaks a rule of its primitive."""

    @abstractmethod
    def show(self, node: Node, names: dict[Value, str]) -> str:
        """The right-hand side of the node's line in a printed Graph."""

    def exprs(self, attrs: Any) -> list[Expr]:
        """Every expression in ``attrs``, where its sizes and numbers occur."""
        return []

    def bodies(self, attrs: Any) -> list[Graph]:
        """The Graphs nested in ``attrs``."""
        return []


class VerificationError(Exception):
    """A Graph breaks a rule of the IR: always a fault of the code that built it."""

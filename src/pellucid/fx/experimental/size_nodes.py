"""Nodes that compute sizes, and numbers that a program reads, in a traced graph.

Called by ``symbolic_trace.py``, which finds the expressions.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import pellucid
from pellucid import SymFloat, SymInt
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.utils._symbolic.environment import (
    INFINITY,
    DerivedSize,
    Guard,
    ShapeEnv,
    Symbol,
)
from pellucid.utils._symbolic.expressions import Expr
from pellucid.utils._symbolic.fitting import Real
from pellucid.utils._symbolic.numbers import COMPARISONS, function_of

# By (index of the input, dimension).
Sizes = dict[tuple[int, int], Symbol | DerivedSize]


class SizeError(RuntimeError):
    """The program takes another path for other values of these symbols."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = list(names)


def function_at(module: GraphModule, node: Node) -> GraphModule | None:
    """The subgraph that the node reads: of a branch or a loop's body."""
    if node.op != "get_attr":
        return None
    found = getattr(module, str(node.target), None)
    return found if isinstance(found, GraphModule) else None


class ComputedSizes:
    """Nodes that compute expressions of sizes, and of numbers that the program reads,
    each only once. ``reads``: by symbol, the node that reads it and the place in its
    result.
    """

    def __init__(
        self,
        graph: Graph,
        sizes: Sizes,
        env: ShapeEnv,
        reads: Mapping[str, tuple[Node, list[int]]],
    ) -> None:
        self.graph, self.env, self.reads = graph, env, reads
        self.made: dict[Any, Node] = {}
        self.late: set[Node] = set()  # of numbers that are read: not with the inputs
        self.asserted: dict[Node, Node] = {}  # the last assertion on each
        self.inputs = graph.find_nodes(op="placeholder")
        known = sorted(  # the last one assigned wins: a plain size, if there is one
            reversed(list(sizes.items())), key=lambda item: item[1] is item[1].root
        )
        self.sources = {size.name: (place, size) for place, size in known}
        self.last = self.inputs[-1] if self.inputs else None

    def node_of(self, expr: Expr) -> Any:
        """The node of an expression, inserted after the inputs, or after what reads its
        symbols.
        """
        symbols = {name: self._symbol(name) for name in sorted(expr.free_symbols)}
        return expr.evaluate(symbols, lambda op, a, b: self._apply(op, a, b))

    def real_of(self, real: Real) -> Any:
        """The node of a float computed from an expression."""
        operands = (
            self.node_of(x) if isinstance(x, Expr) else x
            for x in (real.left, real.right)
        )
        return self._apply(real.operator, *operands)

    def float_of(self, number: SymFloat) -> Any:
        """The node of a float that the program read, or computed from such."""
        name, *operands = number.operands
        if name == "symbol":
            return self._read(operands[0])
        nodes = (
            self.float_of(x)
            if isinstance(x, SymFloat)
            else self.node_of(x.node.expr)
            if isinstance(x, SymInt)
            else x
            for x in operands
        )
        return self._apply(name, *nodes)

    def assert_ranges(self, symbols: Sequence[Symbol]) -> None:
        """Asserts the ranges of numbers that are read, and what is required of them."""
        names = {symbol.name for symbol in symbols} & set(self.reads)
        required = [
            Guard(symbol.expr, sign, Expr.constant(end), "")
            for symbol in symbols
            for sign, end in ((">=", symbol.lower), ("<=", symbol.upper))
            if symbol.name in names and abs(end) < INFINITY
        ]
        required += [g for g in self.env.deferred if g.free_symbols & names]
        for guard in required:
            self._assert(guard)

    def _assert(self, guard: Guard) -> None:
        operands = self.node_of(guard.left), self.node_of(guard.right)
        last = max(x for x in operands if isinstance(x, Node) and x in self.late)
        with self.graph.inserting_after(self.asserted.get(last, last)):
            compared = self.graph.call_function(COMPARISONS[guard.sign], operands)
        message = f"Runtime assertion failed for expression {guard} on node "
        with self.graph.inserting_after(compared):
            self.asserted[last] = self.graph.call_function(
                pellucid.ops.aten._assert_scalar.default,
                (compared, f"{message}'{compared.name}'"),
            )

    def _symbol(self, name: str) -> Node:
        if name not in self.made:
            self.made[name] = (
                self._read(name) if name in self.reads else self._size(name)
            )
        found: Node = self.made[name]
        return found

    def _size(self, name: str) -> Node:
        """A size of an input."""
        if name not in self.sources:
            raise SizeError(
                f"A function of this graph needs the size {name}, which none of "
                "the tensors that it is given has.\nGive it a tensor of this size."
            )
        (index, dim), size = self.sources[name]
        sym_size = pellucid.ops.aten.sym_size.int
        node = self._insert(sym_size, (self.inputs[index], dim))
        node.meta["val"] = self.env.int_of(size)
        if isinstance(size, DerivedSize):
            if size.offset:
                node = self._apply("add", node, -size.offset)
            if size.factor > 1:
                node = self._apply("floordiv", node, size.factor)
        return node

    def _read(self, name: str) -> Node:
        """A number that the program reads from a tensor."""
        node, place = self.reads[name]
        if node.graph is not self.graph:
            raise SizeError(f"Another function of this program reads the number {name}")
        if place[1:]:
            users = (user for user in node.users if user.target is operator.getitem)
            node = next(user for user in users if user.args[1] == place[0])
        self.late.add(node)
        if place:
            sym_size = pellucid.ops.aten.sym_size.int
            node = self._insert(sym_size, (node, place[-1]))
            node.meta["val"] = self.env.int_of(self.env.symbols[name])
        return node

    def _apply(self, op: Any, *operands: Any) -> Any:
        if not any(isinstance(x, Node) for x in operands):
            return function_of(op)(*operands)
        key = (op, *operands)
        if key not in self.made:
            node = self._insert(function_of(op), operands)
            values = [v.meta["val"] if isinstance(v, Node) else v for v in operands]
            node.meta["val"] = function_of(op)(*values)
            self.made[key] = node
        return self.made[key]

    def _insert(self, target: Any, args: tuple[Any, ...]) -> Node:
        late = [x for x in args if isinstance(x, Node) and x in self.late]
        with self.graph.inserting_after(max(late) if late else self.last):
            made = self.graph.call_function(target, args)
        if late:
            self.late.add(made)
        else:
            self.last = made
        return made

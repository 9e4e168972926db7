"""What recorded calls computed and moved: as written, and as run.

A call's declaration is traced for the arguments that the timeline recorded. Its Graph's
loops are its cost as written (``pellucid_compiler/ir/cost.py``), the steps of its Plan
its cost as run (``pellucid_compiler/lower/plan_cost.py``). Calls with arguments that
are not recorded, composites (the ops that they call are counted) and library routines
have no cost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

from pellucid.profiler._timeline.facts import TensorFacts
from pellucid.profiler._timeline.log import Event, Kind, Log
from pellucid.profiler._timeline.ops import is_of_sizes, op_of
from pellucid.profiler._timeline.storages import ancestors
from pellucid_compiler.ir.cost import Cost

if TYPE_CHECKING:
    from pellucid_compiler.lower.plan_cost import StepCost

# Multiplications of Winograd's filtering for each of the window's
# (``codegen/schedules/winograd.py``).
_WINOGRAD = Fraction(16, 36)
Found = TypeVar("Found")
# No declaration takes such arguments.
_UNKNOWN = (NotImplementedError, TypeError, ValueError, KeyError, RuntimeError)


class CostCounter:
    """Counts calls; those with the same arguments once. After some ``seconds`` of
    deriving, other costs are not known: ``missing`` of them.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        import pellucid_compiler.catalogue  # noqa: F401 - fills the registry

        self._left, self.missing = seconds, 0
        self._known: dict[Any, Cost | None] = {}
        self._run: dict[Any, list[Any] | None] = {}
        self._lowered: dict[Any, Any] = {}  # of ops by key, which many sizes share
        self._copies: dict[Any, bool] = {}
        self._is_of_sizes: dict[str, bool] = {}

    def _key(self, name: str, arguments: Sequence[Any]) -> Any:
        """What decides about a call's cost: of views and pointwise ops the type of a
        number, not its value.
        """
        if name not in self._is_of_sizes:
            self._is_of_sizes[name] = is_of_sizes(name)
        if self._is_of_sizes[name]:
            arguments = [
                type(argument) if type(argument) in (int, float) else argument
                for argument in arguments
            ]
        return name, repr(arguments)

    def of(self, event: Event) -> Cost | None:
        """The cost of a call; None where it is not known."""
        return self.of_call(event.name, event.arguments)

    def of_call(self, name: str, arguments: Sequence[Any]) -> Cost | None:
        """As `of`, of an op by its full name."""
        if not arguments:
            return None
        key = self._key(name, arguments)
        if key not in self._known:
            self._known[key] = self._derived(lambda: _cost(name, arguments))
        return self._known[key]

    def copies(self, name: str, arguments: Sequence[Any]) -> bool:
        """Whether a call gives its operands' elements again, in other memory and maybe
        converted, at places that no element says.
        """
        key = self._key(name, arguments)
        if key not in self._copies:
            found = self._derived(lambda: _is_copy(op_of(name, arguments)))
            self._copies[key] = bool(found)
        return self._copies[key]

    def steps_of(self, name: str, arguments: Sequence[Any]) -> list[StepCost] | None:
        """The cost of each step of a call's plan, as it ran; None where not known."""
        if not arguments:
            return None
        key = self._key(name, arguments)
        if key not in self._run:
            self._run[key] = self._derived(lambda: self._steps(name, arguments))
        return self._run[key]

    def _derived(self, derive: Callable[[], Found | None]) -> Found | None:
        """What ``derive`` gives, None where that is not known or there is no time."""
        if self._left <= 0:
            self.missing += 1
            return None
        begin = time.thread_time()
        try:
            return derive()
        except _UNKNOWN:
            return None
        finally:
            self._left -= time.thread_time() - begin

    def _steps(self, name: str, arguments: Sequence[Any]) -> list[StepCost] | None:
        from pellucid_compiler.lower.plan_cost import StepCost, plan_cost
        from pellucid_compiler.specialise.pointwise import PointwiseOp

        op = op_of(name, arguments)
        if isinstance(op, PointwiseOp):
            cost = _pointwise_cost(op, arguments)
            return (
                None if cost is None else [StepCost("map", op.schema.full_name, cost)]
            )
        key = repr(op.reference), op.key, tuple(op.guards.items())
        if key not in self._lowered:
            self._lowered[key] = op.lower()
        lowered = self._lowered[key]
        shapes = [tensor.shape for tensor in _tensors(arguments)]
        if len(shapes) != lowered.plan.num_inputs:
            return None
        return plan_cost(lowered.plan, lowered.kernels, shapes, arguments)

    def as_run(
        self, name: str, arguments: Sequence[Any], routes: Sequence[str] = ()
    ) -> Cost | None:
        """The sum of the steps' costs; ``routes``: the drivers of its products."""
        steps = self.steps_of(name, arguments)
        if steps is None:
            return None
        cost = Cost()
        for step in steps:
            cost.add(step.cost)
        if "Winograd" in routes:
            saved = cost.products - int(cost.products * _WINOGRAD)
            cost.products -= saved
            cost.operations["arithmetic"] -= saved
        return cost


def products_of(log: Log, costs: CostCounter) -> int:
    """The operations of the matrix products and convolutions of a log's calls, as
    written. A call with a declaration of its own counts for the calls inside of it; a
    gradient that computes its forward op again counts as the gradient alone.
    """
    counted: set[Event] = set()
    products = 0
    calls = log.events_of(Kind.CALL)
    gradients = [event for event in calls if event.name.startswith("derivative::")]
    for event in gradients or calls:
        if any(outer in counted for outer in ancestors(event)):
            continue
        cost = costs.of(event)
        if cost is not None:
            counted.add(event)
            products += cost.products
    return products


def _is_copy(op: Any) -> bool:
    from pellucid_compiler.ir.moving import moves_elements, reads_places

    if op.kind == "view" or not op.graph.inputs:
        return False
    return moves_elements(op.graph) and not reads_places(op.graph)


def _cost(name: str, arguments: Sequence[Any]) -> Cost | None:
    from pellucid_compiler.specialise.pointwise import PointwiseOp

    found = op_of(name, arguments)
    if isinstance(found, PointwiseOp):
        return _pointwise_cost(found, arguments)
    return _graph_op_cost(found, arguments)


def _tensors(arguments: Sequence[Any]) -> Iterator[TensorFacts]:
    for argument in arguments:
        if isinstance(argument, TensorFacts):
            yield argument
        elif isinstance(argument, list):
            yield from _tensors(argument)


def _pointwise_cost(op: Any, arguments: Sequence[Any]) -> Cost | None:
    from pellucid_compiler.ir.cost import counted_operations, operation_class
    from pellucid_compiler.ir.dtypes import ITEMSIZE
    from pellucid_compiler.ir.elements import element_bodies

    if any(isinstance(argument, list) for argument in arguments):
        return None  # lists of tensors, each of a size of its own
    tensors = list(_tensors(arguments))
    numel = prod(_broadcast([tensor.shape for tensor in tensors]))
    cost = Cost()
    for output in element_bodies(op.graph):
        for e in counted_operations(output):
            kind = operation_class(e)
            assert kind is not None
            cost.operations[kind] += numel
        cost.bytes_written += numel * ITEMSIZE[output.dtype]
    cost.bytes_read = sum(prod(t.shape) * ITEMSIZE[t.dtype] for t in tensors)
    return cost


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return [0 if 0 in sizes else max(sizes) for sizes in zip(*padded, strict=True)]


def _graph_op_cost(op: Any, arguments: Sequence[Any]) -> Cost | None:
    from pellucid_compiler.ir.cost import graph_cost

    tensors = list(_tensors(arguments))
    if len(tensors) != len(op.graph.inputs):
        return None
    env: dict[str, Any] = {}
    for name, source in op.sources.items():
        given = arguments[source.argument]
        env[name] = given[source.element] if isinstance(given, list) else given
    for value, tensor in zip(op.graph.inputs, tensors, strict=True):
        if len(tensor.shape) != value.rank:
            return None
        sizes = zip(value.shape, tensor.shape, strict=True)
        env |= {size.attr: actual for size, actual in sizes if size.op == "sym"}
    cost = graph_cost(op.graph, {**op.hints, **env})
    if op.is_derivative and cost.product_loops:
        cost.products = _products_of_gradients(op, env, cost)
    return cost


def _products_of_gradients(op: Any, env: dict[str, Any], cost: Cost) -> int:
    """A product's gradients have as many operations as the product each: those that a
    gradient's loop multiplies by zeros, beyond the edge of an image, do not count.
    """
    from pellucid_compiler.abi.encode import decode
    from pellucid_compiler.ir.cost import graph_cost
    from pellucid_compiler.specialise.answer import resolve
    from pellucid_compiler.specialise.graphs import GraphOp

    origin: Any = decode(op.reference)
    rule, base, given, _ = origin
    forward = resolve(base, given)
    if not rule.endswith("vjp") or not isinstance(forward, GraphOp):
        return cost.products
    product = graph_cost(forward.graph, {**forward.hints, **env})
    if product.product_loops != 1:
        return cost.products
    return product.products * cost.product_loops

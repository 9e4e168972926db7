"""What recorded calls computed and moved, from the loops of their ops.

A call's declaration is traced for the arguments that the timeline recorded, and its
Graph's loops are counted (``pellucid_compiler/ir/cost.py``). Calls with arguments that
are not recorded, composites (the ops that they call are counted) and library routines
have no cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from pellucid import _C
from pellucid._timeline.facts import UNRECORDED, TensorFacts
from pellucid._timeline.log import Event
from pellucid_compiler.ir.cost import Cost


class CostCounter:
    """Counts calls; those with the same arguments once."""

    def __init__(self) -> None:
        import pellucid_compiler.catalogue  # noqa: F401 - fills the registry

        self._known: dict[Any, Cost | None] = {}

    def of(self, event: Event) -> Cost | None:
        """The cost of a call; None where it is not known."""
        arguments = event.thread.arguments(event)
        if not arguments and event.facts == 0:
            return None
        return self.of_call(event.name, arguments)

    def of_call(self, name: str, arguments: Sequence[Any]) -> Cost | None:
        """As `of`, of an op by its full name."""
        key = name, repr(arguments)
        if key not in self._known:
            try:
                self._known[key] = _cost(name, arguments)
            except (NotImplementedError, TypeError, ValueError, KeyError, RuntimeError):
                self._known[key] = None  # no declaration takes such arguments
        return self._known[key]


def _cost(name: str, arguments: Sequence[Any]) -> Cost | None:
    from pellucid_compiler.declare.op import REGISTRY, SCALAR_KINDS
    from pellucid_compiler.specialise.answer import resolve
    from pellucid_compiler.specialise.graphs import declared_graph
    from pellucid_compiler.specialise.pointwise import PointwiseOp, declared_pointwise

    if any(argument is UNRECORDED for argument in arguments):
        return None
    if name.startswith("derivative::"):
        origin = _C._derivative_origin(name)
        found: Any = resolve(origin, [])
    else:
        op = REGISTRY[_functional(name, REGISTRY)]
        values = [_value(argument) for argument in arguments]
        values = values[: len(op.schema.arguments)]
        is_pointwise = op.kind in SCALAR_KINDS
        found = (declared_pointwise if is_pointwise else declared_graph)(op, values)
    if isinstance(found, PointwiseOp):
        return _pointwise_cost(found, arguments)
    return _graph_op_cost(found, arguments)


def _functional(name: str, registry: Any) -> str:
    """The declared op that an op is a variant of: ``add.Tensor`` of ``add_.Tensor``."""
    base, _, overload = name.removeprefix("aten::").partition(".")
    for candidate in (base, base.removesuffix("_")):
        full = f"{candidate}.{overload}" if overload else candidate
        if full in registry:
            return full
    raise KeyError(name)


def _value(argument: Any) -> Any:
    from pellucid_compiler.specialise.requests import TensorLike

    if isinstance(argument, TensorFacts):
        return TensorLike(argument.dtype, argument.shape)
    if isinstance(argument, list):
        return [_value(item) for item in argument]
    return argument


def _tensors(arguments: Sequence[Any]) -> Iterator[TensorFacts]:
    for argument in arguments:
        if isinstance(argument, TensorFacts):
            yield argument
        elif isinstance(argument, list):
            yield from _tensors(argument)


def _pointwise_cost(op: Any, arguments: Sequence[Any]) -> Cost | None:
    from pellucid_compiler.ir.cost import counted_operations, operation_class
    from pellucid_compiler.ir.dtypes import ITEMSIZE

    if any(isinstance(argument, list) for argument in arguments):
        return None  # lists of tensors, each of a size of its own
    tensors = list(_tensors(arguments))
    numel = prod(_broadcast([tensor.shape for tensor in tensors]))
    cost = Cost()
    for output in op.function.outputs:
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

    env = dict(op.hints)
    tensors = list(_tensors(arguments))
    if len(tensors) != len(op.graph.inputs):
        return None
    for value, tensor in zip(op.graph.inputs, tensors, strict=True):
        if len(tensor.shape) != value.rank:
            return None
        sizes = zip(value.shape, tensor.shape, strict=True)
        env |= {size.attr: actual for size, actual in sizes if size.op == "sym"}
    return graph_cost(op.graph, env)

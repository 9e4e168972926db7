"""Declared ops as the ops that their traced Graphs consist of.

A Graph says what an op computes by loops: each element of a result from elements at
computed places. Its nodes run here one after another: a loop as ops on whole tensors
(loops.py, products.py, puts.py); of derivatives a scan step by step, and a library
routine as the op that calls it. expressible.py says which Graphs can. So no op needs a
formula of its own to be brought to Core ATen, and a derivative that PyTorch has no name
for is seen as ops of tensors. Used by core_aten.py and derivatives.py; the same for
single elements is in emitted.py. Read next: loop_values.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import _C, Tensor
from pellucid._C._runtime.gradients import overload_of
from pellucid._decomp.call import Unread
from pellucid._decomp.expressible import (
    is_expressible,
    numbers_are_allowed,
    op_of_routine,
)
from pellucid._decomp.loop_values import known_size
from pellucid._decomp.loops import kind_of_loop
from pellucid._decomp.registry import declared
from pellucid._ops import OpOverload, ops

if TYPE_CHECKING:
    from pellucid_compiler.declare.key import Call
    from pellucid_compiler.ir.graph import Graph, Value
    from pellucid_compiler.ir.primitives import LibraryAttrs, ScanAttrs

aten = ops.aten
_LONGEST_SCAN = 1024
_MOST_CALLS = 4096  # that are known to move elements or not
_MOVES: dict[Any, bool] = {}


@dataclass
class _StandIn:
    """What specialisation asks of a tensor."""

    tensor: Tensor
    dtype: str
    ndim: int
    shape: tuple[int, ...]


def run_graph(op: Any, args: Sequence[Any], kwargs: Any) -> list[Tensor] | None:
    """What ``op`` gives, by the ops that its Graph consists of; None where the Graph
    calls a library, or scans elements, or has many steps. A recurrent layer, with a
    product of matrices in every step, runs step by step.
    """
    from pellucid_compiler.declare.key import bind_arguments

    graph, call = graph_of(op, args, kwargs)
    if not is_expressible(graph, with_layers=True):
        return None
    if not numbers_are_allowed(graph, call.env) or not _is_short(graph, call.env):
        return None
    tensors = [stand_in.tensor for stand_in in call.tensors]
    names = [a.name for a in op.schema.arguments]
    given = bind_arguments(op.schema, args, kwargs)
    device = tensors[0].device if tensors else None
    if "device" in names:
        device = given[names.index("device")] or device
    return results_of(graph, tensors, call.env, device)


def derivative_by_graph(op: OpOverload) -> Callable[[Any], list[Tensor]] | None:
    """A function of the derivative op's arguments that gives what it gives, by the ops
    that its Graph consists of; None where they do not express it.
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid_compiler.ir.interpret import bind_sizes
    from pellucid_compiler.lower.registers import SizeSource
    from pellucid_compiler.specialise.answer import resolve
    from pellucid_compiler.specialise.pointwise import PointwiseOp

    found = resolve(_C._derivative_origin(op.name()), None)
    _, forward, *_ = _C._derived_from(op.name())
    restores = any(a.name == "dim" for a in forward._schema.arguments)
    graph = found.graph  # without operands nothing says the device
    if isinstance(found, PointwiseOp) or not graph.inputs:
        return None
    if not is_expressible(graph, with_calls=True):
        return None

    def run(args: tuple[Any, ...]) -> list[Tensor]:
        inputs = [_argument(args, p.argument, p.element) for p in found.places]
        env = {
            name: inputs[source.position].shape[source.dim]
            if isinstance(source, SizeSource)
            else _argument(args, source.argument, source.element)
            for name, source in found.sources.items()
        }
        for value, tensor in zip(found.graph.inputs, inputs, strict=True):
            bind_sizes(value, tensor.shape, env)
        return results_of(found.graph, inputs, env, inputs[0].device, restores)

    return run


def _argument(args: tuple[Any, ...], number: int, element: int) -> Any:
    return args[number] if element < 0 else args[number][element]


def graph_of(op: Any, args: Sequence[Any], kwargs: Any) -> tuple[Graph, Call]:
    """The Graph of a declared op for a call, and the call taken apart."""
    from pellucid_compiler.declare.key import bind_arguments, specialise

    given = bind_arguments(op.schema, args, kwargs)
    call = specialise(op.schema, [_in_key(v) for v in given], {}, op.options.numbers)
    return op.trace(call.key, call.env).graph, call


def moves_elements(op: OpOverload, args: Sequence[Any], kwargs: Any = None) -> bool:
    """Whether a call of a declared op only moves elements; False of composites, whose
    ops are seen one by one, and of ops that write.
    """
    from pellucid_compiler.ir.moving import moves_elements as moves

    given = (*args, *(kwargs or {}).items())
    key = op, tuple(map(_fact, given))
    known = _MOVES.get(key)
    if known is None:
        try:
            declaration = declared(op.name().removeprefix("aten::"))
        except KeyError:
            return False
        if op._schema.is_mutable:
            return False
        known = moves(graph_of(declaration, args, kwargs or {})[0])
        if len(_MOVES) >= _MOST_CALLS:
            _MOVES.clear()  # the answer is kept: another thread may clear them, too
        _MOVES[key] = known
    return known


def _fact(value: Any) -> Any:
    """An argument without the elements of tensors, to look calls up by."""
    if isinstance(value, Tensor):
        return value.dtype, tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return tuple(map(_fact, value))
    return type(value), value


@cache
def refuses(op: OpOverload, dtype: pellucid.dtype) -> bool:
    """Whether the declaration of an op excludes integers of a dtype."""
    try:
        refused = declared(op.name().removeprefix("aten::")).options.refuses
    except KeyError:
        return False
    return "integers" in refused or _name(dtype) in refused


def _in_key(value: Any) -> Any:
    """An argument as specialisation takes it."""
    if isinstance(value, Tensor):
        return _StandIn(value, _name(value.dtype), value.dim(), tuple(value.shape))
    if isinstance(value, (list, tuple)):
        return [_in_key(item) for item in value]
    if isinstance(value, pellucid.dtype):
        return _name(value)
    is_place = isinstance(
        value, (pellucid.device, pellucid.layout, pellucid.memory_format)
    )
    return None if is_place else value


def _name(dtype: pellucid.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def results_of(
    graph: Graph,
    inputs: Sequence[Tensor],
    env: dict[str, Any],
    device: Any,
    restores: bool = True,
) -> list[Tensor]:
    """The outputs of an expressible Graph; ``env``: sizes and numbers by name.
    ``restores``: a scalar is given the dims of what it meets, as the result of a
    reduction over named dims is; else it broadcasts.
    """
    from pellucid_compiler.ir.moving import last_to_compute
    from pellucid_compiler.ir.primitives import CALL, LIBRARY, RESHAPE, SCAN

    last = last_to_compute(graph)
    values: dict[Value, Tensor] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        given = [values[v] for v in node.inputs]
        if node.primitive is CALL:
            found = results_of(node.attrs.body, given, env, device, restores)
        elif node.primitive is SCAN:
            found = _scanned(node.attrs, given, env, device)
        elif node.primitive is LIBRARY:
            found = _called(node.attrs, given, env)
        elif node.primitive is RESHAPE:
            found = [given[0].reshape([known_size(n, env) for n in node.attrs.shape])]
        else:
            kind = kind_of_loop(node)
            run = kind(node, given, env, device, restores, is_last=node is last)
            found = [run.result()]
        values.update(zip(node.outputs, found, strict=True))
    return [values[v] for v in graph.outputs]


def _is_short(graph: Graph, env: dict[str, Any]) -> bool:
    """Whether what runs step by step has a few steps."""
    from pellucid_compiler.ir.primitives import SCAN

    lengths = [n.attrs.length for n in graph.nodes if n.primitive is SCAN]
    return all(0 < known_size(length, env) <= _LONGEST_SCAN for length in lengths)


def _scanned(
    attrs: ScanAttrs, given: list[Tensor], env: dict[str, Any], device: Any
) -> list[Tensor]:
    """A recurrence step by step, what the steps give stacked along a new dim. `Unread`
    for one of many steps, which nobody would read.
    """
    length = known_size(attrs.length, env)
    if not 0 < length <= _LONGEST_SCAN:
        raise Unread("sequence")
    end = len(given) - attrs.num_constants
    carries, sequences = given[: attrs.num_carries], given[attrs.num_carries : end]
    made = []
    for t in range(length)[:: -1 if attrs.reverse else 1]:
        at_time = [aten.select.int(x, 0, t) for x in sequences]
        results = results_of(
            attrs.step, [*carries, *at_time, *given[end:]], env, device
        )
        carries = results[: attrs.num_carries]
        made.append(results)
    ordered = made[::-1] if attrs.reverse else made
    return [aten.stack(list(values)) for values in zip(*ordered, strict=True)]


def _called(
    attrs: LibraryAttrs, given: list[Tensor], env: dict[str, Any]
) -> list[Tensor]:
    from pellucid_compiler.ir.expr import Expr

    name = op_of_routine(attrs)
    assert name is not None
    options = {
        key: known_size(value, env) if isinstance(value, Expr) else value
        for key, value in attrs.options
    }
    found = overload_of(name)(*given, **options)
    return [found] if isinstance(found, Tensor) else list(found)

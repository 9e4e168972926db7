"""A graph op over many examples at once: a separate op per set of batched inputs.

Batched inputs and every output have a new leading dim; the arguments are those of the
op. Called by answer.py; the runtime calls the op from runtime/transforms/batching.cpp.
Pointwise ops need none of this: they broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.abi.encode import encode
from pellucid_compiler.declare.key import ArgumentKey, Key, ListKey, TensorKey
from pellucid_compiler.declare.schema import parse_schema
from pellucid_compiler.ir.expr import Expr, sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.lower.registers import SizeSource, Source, size_sources
from pellucid_compiler.specialise.derivative_assembly import DerivativeOp
from pellucid_compiler.specialise.derived_names import derived_name, origin_of
from pellucid_compiler.specialise.graphs import GraphOp
from pellucid_compiler.transforms.batch import SizesDiffer, batch


def derive_batched(op: GraphOp, mask: int) -> DerivativeOp | None:
    """``op`` with a leading dim on the inputs whose bits are set; None if sizes depend
    on values: then the runtime runs the examples one by one, if their sizes are equal.
    """
    op = op.to_differentiate()
    flags = [bool(mask >> min(place.number, 63) & 1) for place in op.places]
    if not any(flags):
        return None
    try:
        graph = batch(op.graph, flags, _unused_size(op.graph))
    except SizesDiffer:
        return None
    _forget_names(graph, flags)
    _, _, arguments = op.schema.text.partition("(")
    batched = GraphOp(
        reference=encode(["batch", *origin_of(op), mask]),
        schema=parse_schema(f"{derived_name(op, 'batch', mask)}({arguments}"),
        kind=op.kind,
        arguments=[],
        key=_batched_key(op, flags),
        graph=graph,
        guards={},
        places=op.places,
        sources=_shifted_sources(op, flags),
        hints=op.hints,
        node=op.node,
        is_derivative=True,
    )
    return DerivativeOp(batched, (), (), (), 0, 0)


def _unused_size(graph: Graph) -> Expr:
    names = {n.attr for v in graph.inputs for n in v.shape if n.op == "sym"}
    depth = sum(name.startswith("batch.") for name in names)
    return sym(f"batch.{depth}", "int64")


def _forget_names(graph: Graph, flags: Sequence[bool]) -> None:
    """Drop the names of a tensor's sizes, whose dims have shifted."""
    for value, flag in zip(graph.inputs, flags, strict=True):
        if flag:
            value.name = None


def _shifted_sources(op: GraphOp, flags: Sequence[bool]) -> dict[str, Source]:
    """Where the numbers and the sizes of single examples are found."""
    found: dict[str, Source] = {}
    for name, source in {**size_sources(op.graph), **op.sources}.items():
        if isinstance(source, SizeSource) and flags[source.position]:
            source = SizeSource(source.position, source.dim + 1)
        found[name] = source
    return found


def _batched_key(op: GraphOp, flags: Sequence[bool]) -> Key:
    """The op's key, with one more dim where a tensor is batched."""
    key: list[ArgumentKey] = list(op.key)
    for place, flag in zip(op.places, flags, strict=True):
        if not flag:
            continue
        item = key[place.argument]
        if isinstance(item, ListKey):
            items = list(item.items)
            items[place.element] = _with_dim(items[place.element])
            key[place.argument] = ListKey(tuple(items))
        else:
            key[place.argument] = _with_dim(item)
    return tuple(key)


def _with_dim(item: ArgumentKey) -> TensorKey:
    assert isinstance(item, TensorKey)
    return TensorKey(item.dtype, item.rank + 1)

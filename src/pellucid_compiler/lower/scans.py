"""Scans whose step is one combine: cumsum, cumprod, cummax, and their reverses.

The step ``carry <op> value(x)`` becomes the form ``scan`` along the leading axis; a
reverse scan walks its operands with negative strides. Called by nodes.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.abi.plan import (
    ScanStep,
    ViewStep,
)
from pellucid_compiler.codegen.kernel import Kernel, Scan
from pellucid_compiler.ir.dtypes import wide_dtype
from pellucid_compiler.ir.expr import Expr, const, load
from pellucid_compiler.ir.graph import Node, Value
from pellucid_compiler.ir.kinds import view_map
from pellucid_compiler.ir.primitives import LOOP, SCAN, LoopAttrs, ScanAttrs
from pellucid_compiler.ir.primitives.loop import identity
from pellucid_compiler.ir.traversal import has_checks, loads, rewrite
from pellucid_compiler.lower.affine import Affine, operand
from pellucid_compiler.lower.bodies import BodyConverter, Parameters
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.loops import loop_shape, plain_maps

_COMBINE = {"add": "sum", "mul": "prod", "maximum": "max", "minimum": "min"}


def lower_scan(
    node: Node, builder: PlanBuilder, mover: Node | None, may_view: bool
) -> bool:
    """Emit a scan step; False if the scan is not a running combine.

    The initial carry must be the combine's identity. A ``mover`` is a node that only
    permutes the result, as its only reader: the scan then writes where the mover would.
    Without one, if the result may be a view, it has the layout of the scan's input, so
    that both are dense along the same axis.
    """
    attrs: ScanAttrs = node.attrs
    found = _running_combine(node)
    if found is None:
        return False
    combine, value = found
    parameters = Parameters(builder.registers)
    numbers: dict[int, int] = {}

    def replace(e: Expr, guarded: bool) -> Expr:
        return load(numbers.setdefault(e.attr, len(numbers)), (), e.dtype)

    body = BodyConverter(parameters, replace).convert(value)
    out = node.outputs[0]
    sequences = [node.inputs[position] for position in numbers]
    kernel = Kernel(
        Scan(body, combine, wide_dtype(out.dtype)),
        tuple(v.dtype for v in sequences),
        (out.dtype,),
        parameters.dtypes,
    )
    maps = _maps(attrs, out.rank)
    read = tuple(operand(builder.number(v), maps, builder.registers) for v in sequences)
    order = None if mover is None else permutation(mover)
    source_order = None if order or not may_view else _source_order(sequences)
    written = order or source_order or list(range(out.rank))
    if source_order is None:
        number = builder.define(out if mover is None else mover.outputs[0])
    else:
        shape = [out.shape[dim] for dim in source_order]
        number = builder.temporary(out.dtype, shape)
    places = [maps[dim] for dim in written]
    builder.steps.append(
        ScanStep(
            kernel=builder.use(kernel, parameters.resolve()),
            extents=builder.sizes((*out.shape[1:], attrs.length)),
            outputs=(operand(number, places, builder.registers),),
            inputs=read,
        )
    )
    if source_order is not None:
        source = operand(number, plain_maps(source_order), builder.registers)
        builder.steps.append(ViewStep(builder.define(out), source))
    return True


def _source_order(sequences: Sequence[Value]) -> list[int] | None:
    """The dims of the result in the order of the tensor that the first sequence
    permutes, if it does.
    """
    maker = sequences[0].node if sequences else None
    order = None if maker is None else permutation(maker)
    if order is None or order == sorted(order):
        return None
    return [order.index(dim) for dim in range(len(order))]


def permutation(node: Node) -> list[int] | None:
    """The dim of its operand along which each dim of a node's result runs; None if the
    node does anything but permute dims.
    """
    if node.primitive is not LOOP or view_map(node) is None:
        return None
    body, place = node.attrs.store.body, node.attrs.store.place
    dims = {i.attr: dim for dim, i in enumerate(body.args) if i.op == "axis"}
    order = [dims.get(i.attr) for i in place if i.op == "axis"]
    found = [dim for dim in order if dim is not None]
    return found if len(found) == len(place) == len(body.args) else None


def _maps(attrs: ScanAttrs, rank: int) -> tuple[Affine, ...]:
    """The leading dim along the last axis, either way; the others in order."""
    zero, one = const(0, "int64"), const(1, "int64")
    along = Affine(zero, ((rank - 1, one),))
    if attrs.reverse:
        along = Affine(attrs.length - 1, ((rank - 1, const(-1, "int64")),))
    return (along, *(Affine(zero, ((axis, one),)) for axis in range(rank - 1)))


def is_recurrence(node: Node) -> bool:
    """Whether the node is a scan whose step runs as a plan of its own."""
    return node.primitive is SCAN and _running_combine(node) is None


def _running_combine(node: Node) -> tuple[str, Expr] | None:
    """The combine and the scanned value, whose loads name the scan's inputs."""
    found = _single_combine(node)
    if found is None:
        return None
    is_plain = _starts_from(node, identity(found[0], node.outputs[0].dtype))
    return found if is_plain else None


def _single_combine(node: Node) -> tuple[str, Expr] | None:
    step = node.attrs.step
    if (
        len(node.outputs) == node.attrs.num_carries == 1
        and not node.attrs.num_constants
        and len(step.nodes) == 1
        and step.nodes[0].primitive is LOOP
    ):
        (inner,) = step.nodes
        attrs: LoopAttrs = inner.attrs
        shape = loop_shape(attrs)
        body = attrs.stores[0].body
        position = {value: k for k, value in enumerate(step.inputs)}
        if shape is not None and not shape.reduced and body.op in _COMBINE:
            for carry, value in (body.args, body.args[::-1]):
                if has_checks(value):
                    return None
                is_carry = (
                    carry.op == "load" and inner.inputs[carry.attr] is step.inputs[0]
                )
                reads = [inner.inputs[e.attr] for e in loads(value)]
                if is_carry and step.inputs[0] not in reads:
                    return _COMBINE[body.op], _renumber(value, inner, position)
    return None


def _renumber(value: Expr, inner: Node, position: dict[object, int]) -> Expr:
    return rewrite(
        value,
        lambda e, args: (
            load(position[inner.inputs[e.attr]], args, e.dtype)
            if e.op == "load"
            else None
        ),
    )


def _starts_from(node: Node, start: bool | int | float) -> bool:
    maker = node.inputs[0].node
    if maker is None or maker.primitive is not LOOP:
        return False
    body: Expr = maker.attrs.stores[0].body
    return body.op == "const" and bool(body.attr == start)

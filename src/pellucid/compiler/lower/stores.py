"""Loops that write parts of their output at strided places: joins, padding, the
gradients of views.

Each store becomes a strided map into one buffer: zeros, the memory of what the loop
updates, or, where the stores cover everything, memory as it was allocated. Called by
graph.py before nests.py, which takes what is left. Read next: transforms/ranges.py,
which splits loops so.
"""

from __future__ import annotations

from pellucid.compiler.kernel import Kernel, Map
from pellucid.compiler.lower.affine import Affine, affine_map, operand
from pellucid.compiler.lower.bodies import (
    AffineOperands,
    BodyConverter,
    NotAffine,
    Parameters,
)
from pellucid.compiler.lower.builder import PlanBuilder
from pellucid.compiler.lower.registers import RegisterBuilder, fits_registers
from pellucid.compiler.plan import FillStep, NestStep
from pellucid.ir.expr import Expr, const, load
from pellucid.ir.gather_form import is_injective
from pellucid.ir.graph import Node
from pellucid.ir.primitives import LoopAttrs, Store


def lower_stores(node: Node, builder: PlanBuilder, reuses: bool) -> bool:
    """Emit a map for each store; False (and nothing) if one of them is not affine.

    ``reuses``: the memory of what the loop updates is free to be written.
    """
    attrs: LoopAttrs = node.attrs
    if attrs.combine not in ("sum", "assign"):
        return False
    places = [_place(attrs, store) for store in attrs.stores]
    if None in places or not all(_is_affine(node, s) for s in attrs.stores):
        return False
    output = _start(node, builder, reuses)
    is_fresh = attrs.init is None
    for store, place in zip(attrs.stores, places, strict=True):
        assert place is not None
        adds = attrs.combine == "sum" and not is_fresh
        _emit_store(node, store, place, output, adds, builder)
        is_fresh = False
    return True


def _place(attrs: LoopAttrs, store: Store) -> tuple[Affine, ...] | None:
    """The strided place of an injective store that needs no test."""
    if store.drop or not is_injective(attrs.extents, store.place):
        return None
    maps = [affine_map(index) for index in store.place]
    known = tuple(m for m in maps if m is not None and fits_registers(m.offset))
    return known if len(known) == len(maps) else None


def _is_affine(node: Node, store: Store) -> bool:
    attrs: LoopAttrs = node.attrs
    same = {a: a for a in range(len(attrs.extents))}
    operands = AffineOperands(node.inputs, attrs.extents, same)
    parameters = Parameters(RegisterBuilder({}, is_open=True))
    try:
        BodyConverter(parameters, operands.replace).convert(store.body)
    except NotAffine:
        return False
    return True


def _start(node: Node, builder: PlanBuilder, reuses: bool) -> int:
    """The buffer that the stores write, as it is before them."""
    attrs: LoopAttrs = node.attrs
    if attrs.init is not None:
        return builder.update(node.outputs[0], node.inputs[attrs.init], reuses)
    output = builder.define(node.outputs[0])
    if not attrs.covered:
        builder.steps.append(FillStep(output, 0))
    return output


def _emit_store(
    node: Node,
    store: Store,
    place: tuple[Affine, ...],
    output: int,
    adds: bool,
    builder: PlanBuilder,
) -> None:
    attrs: LoopAttrs = node.attrs
    parameters = Parameters(builder.registers)
    same = {a: a for a in range(len(attrs.extents))}
    operands = AffineOperands(node.inputs, attrs.extents, same)
    value = BodyConverter(parameters, operands.replace).convert(store.body)
    _require_strides(place, builder)
    target = operand(output, place, builder.registers)
    read = [
        operand(builder.number(v), maps, builder.registers)
        for v, maps in operands.addresses
    ]
    dtypes = [v.dtype for v, _ in operands.addresses]
    if adds:
        value = load(len(read), (), attrs.dtype) + value
        read.append(target)
        dtypes.append(attrs.dtype)
    kernel = Kernel(Map((value,)), tuple(dtypes), (attrs.dtype,), parameters.dtypes)
    builder.steps.append(
        NestStep(
            form="map",
            kernel=builder.use(kernel, parameters.resolve()),
            extents=builder.sizes(attrs.extents),
            kept=len(attrs.extents),
            outputs=(target,),
            inputs=tuple(read),
        )
    )


def _require_strides(place: tuple[Affine, ...], builder: PlanBuilder) -> None:
    """A stride that is a number of the call must not be zero: stores would meet."""
    zero: Expr = const(0, "int64")
    for map_ in place:
        for _, coefficient in map_.coefficients:
            if coefficient.op != "const":
                message = ("a store at stride ", coefficient, ": strides are not zero")
                differs = coefficient != zero
                builder.registers.require(differs, "RuntimeError", message)

"""Loops that write parts of their output at strided places: joins, padding, the
gradients of views.

Each store becomes a strided map into one buffer: zeros, the memory of the updated
value, or, if the stores cover everything, uninitialised memory. If points of a sum
collide, like overlapping windows, the axes along which they collide are walked
sequentially. Called by nodes.py before nests.py, which handles the rest. Read next:
passes/ranges.py, which splits loops into such stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pellucid_compiler.abi.plan import (
    FillStep,
    NestStep,
)
from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.ir.expr import Expr, axis, const, is_const, load
from pellucid_compiler.ir.gather_form import is_injective
from pellucid_compiler.ir.graph import Node
from pellucid_compiler.ir.primitives import LoopAttrs, Store
from pellucid_compiler.ir.traversal import substitute
from pellucid_compiler.lower.affine import Affine, affine_map, operand
from pellucid_compiler.lower.bodies import (
    AffineOperands,
    BodyConverter,
    NotAffine,
    Parameters,
)
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.registers import RegisterBuilder, fits_registers


def lower_stores(node: Node, builder: PlanBuilder, reuses: bool) -> bool:
    """Emit a map for each store; False (and nothing) if one of them is not affine.

    ``reuses``: the memory of the updated value may be overwritten.
    """
    attrs: LoopAttrs = node.attrs
    if attrs.combine not in ("sum", "assign"):
        return False
    places = [_region(attrs, store) for store in attrs.stores]
    known = [place for place in places if place is not None]
    if len(known) < len(places) or not all(_is_affine(node, s) for s in attrs.stores):
        return False
    output = _start(node, builder, reuses)
    is_fresh = attrs.init is None
    for store, place in zip(attrs.stores, known, strict=True):
        adds = attrs.combine == "sum" and not (is_fresh and not place.colliding)
        _emit_store(node, store, place, output, adds, builder)
        is_fresh = False
    return True


@dataclass(frozen=True, eq=False)
class _StoreRegion:
    """Where a store writes. Points that differ only in ``injective`` axes never
    collide."""

    maps: tuple[Affine, ...]
    injective: tuple[int, ...]
    colliding: tuple[int, ...]

    @property
    def new_axis(self) -> Mapping[int, int]:
        return {old: new for new, old in enumerate((*self.injective, *self.colliding))}


def _region(attrs: LoopAttrs, store: Store) -> _StoreRegion | None:
    """The strided place of a store that needs no bounds check."""
    if store.drop:
        return None
    found = [affine_map(index) for index in store.place]
    maps = tuple(m for m in found if m is not None and fits_registers(m.offset))
    if len(maps) < len(found):
        return None
    colliding = tuple(sorted({a for m in maps for a in _colliding_axes(m)}))
    injective = tuple(a for a in range(len(attrs.extents)) if a not in colliding)
    fixed = {axis(a): const(0, "int64") for a in colliding}
    rest = [substitute(index, fixed) for index in store.place]
    one = const(1, "int64")
    space = [one if a in colliding else n for a, n in enumerate(attrs.extents)]
    if (colliding and attrs.combine != "sum") or not is_injective(space, rest):
        return None
    return _StoreRegion(maps, injective, colliding)


def _colliding_axes(map_: Affine) -> list[int]:
    """All axes of a coordinate except the last that moves by more than one element."""
    axes = [a for a, _ in map_.coefficients]
    far = [a for a, c in map_.coefficients if not is_const(c, 1)]
    return [a for a in axes if a != (far or axes)[-1]]


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
    """The buffer that the stores write, with its initial contents."""
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
    place: _StoreRegion,
    output: int,
    adds: bool,
    builder: PlanBuilder,
) -> None:
    attrs: LoopAttrs = node.attrs
    parameters = Parameters(builder.registers)
    new_axis = dict(place.new_axis)
    operands = AffineOperands(node.inputs, attrs.extents, new_axis)
    value = BodyConverter(parameters, operands.replace).convert(store.body)
    _require_strides(place.maps, builder)
    maps = [m.renumbered(new_axis) for m in place.maps]
    target = operand(output, maps, builder.registers)
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
            kernel=builder.use(kernel, parameters.resolve(), parameters.messages),
            extents=builder.sizes(attrs.extents[a] for a in new_axis),
            num_stored=len(place.injective),
            outputs=(target,),
            inputs=tuple(read),
        )
    )


def _require_strides(place: tuple[Affine, ...], builder: PlanBuilder) -> None:
    """A stride that is a number of the call must not be zero: stores would collide."""
    zero: Expr = const(0, "int64")
    for map_ in place:
        for _, coefficient in map_.coefficients:
            if coefficient.op != "const":
                message = ("a store at stride ", coefficient, ": strides are not zero")
                differs = coefficient != zero
                builder.registers.require(differs, "RuntimeError", message)

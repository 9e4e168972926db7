"""A loop as one step: fill, view, map or reduce; other loops go to nests.py.

The axes of a step are the stored ones in the order of the output's dims, then the
reduced ones in the loop's order. A loop is affine if every load is a strided walk over
its operand that is unconditionally in bounds; then its body needs no index, and one
kernel serves every rank. Called by nodes.py. Read next: bodies.py, rows.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pellucid_compiler.abi.plan import (
    FillStep,
    NestStep,
    Operand,
    ViewStep,
)
from pellucid_compiler.codegen.kernel import Kernel, Map, Reduce
from pellucid_compiler.ir.affine import polynomial
from pellucid_compiler.ir.dtypes import wide_dtype
from pellucid_compiler.ir.expr import Expr, axis, cast, const, is_const, load
from pellucid_compiler.ir.graph import Node, Value
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs
from pellucid_compiler.lower.affine import Affine, affine_map, operand
from pellucid_compiler.lower.bodies import (
    AffineOperands,
    BodyConverter,
    NotAffine,
    Parameters,
)
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.registers import LoweringError, RegisterBuilder

REDUCIBLE = frozenset(("sum", "prod", "max", "min", "and", "or"))


@dataclass(frozen=True)
class LoopShape:
    """How a plain loop's axes map to its output.

    ``store_axes``: per output dim the stored axis, None if the dim has size 1.
    ``stored`` and ``reduced``: the loop's axes; together they are the step's axes.
    """

    store_axes: tuple[int | None, ...]
    stored: tuple[int, ...]
    reduced: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        return self.stored + self.reduced

    @property
    def new_axis(self) -> dict[int, int]:
        return {old: new for new, old in enumerate(self.order)}


def loop_shape(attrs: LoopAttrs) -> LoopShape | None:
    """The shape of a loop with one store that covers its output once; else None."""
    if len(attrs.stores) != 1 or attrs.init is not None:
        return None
    axes: list[int | None] = []
    for index, size in zip(attrs.store.place, attrs.shape, strict=True):
        if is_const(index, 0) and is_const(size, 1):
            axes.append(None)
        elif index.op == "axis" and attrs.extents[index.attr] is size:
            axes.append(index.attr)
        else:
            return None
    stored = tuple(a for a in axes if a is not None)
    if len(set(stored)) != len(stored):
        return None
    reduced = tuple(a for a in range(len(attrs.extents)) if a not in stored)
    return LoopShape(tuple(axes), stored, reduced)


def is_map(node: Node) -> bool:
    """Whether the node computes each element of its output once, without a sum."""
    shape = loop_shape(node.attrs) if node.primitive is LOOP else None
    return shape is not None and not shape.reduced


def plain_maps(axes: Sequence[int | None]) -> tuple[Affine, ...]:
    """Index maps of an output whose dims follow ``axes`` (None: a dim of size 1)."""
    zero, one = const(0, "int64"), const(1, "int64")
    return tuple(Affine(zero, () if a is None else ((a, one),)) for a in axes)


def output_operand(value: int, shape: LoopShape, builder: PlanBuilder) -> Operand:
    new_axis = shape.new_axis
    axes = [None if a is None else new_axis[a] for a in shape.store_axes]
    return operand(value, plain_maps(axes), builder.registers)


def view_source(node: Node) -> tuple[Value, tuple[Affine, ...]] | None:
    """The value and index maps of a loop that only reads one element per point."""
    attrs: LoopAttrs = node.attrs
    shape = loop_shape(attrs)
    body = attrs.stores[0].body
    if shape is None or shape.reduced or body.op != "load":
        return None
    maps = [affine_map(index) for index in body.args]
    known = [m for m in maps if m is not None]
    if len(known) != len(maps):
        return None
    dim_of = {axis: dim for dim, axis in enumerate(shape.store_axes)}
    renumbered = tuple(m.renumbered(dim_of) for m in known)  # type: ignore[arg-type]
    return node.inputs[body.attr], renumbered


def lower_view(node: Node, builder: PlanBuilder) -> None:
    """A view step; the axes of its operand are the dims of the output."""
    found = view_source(node)
    if found is None:
        raise LoweringError("a loop that is not a view was lowered as one")
    source, maps = found
    operand_ = operand(builder.number(source), maps, builder.registers)
    builder.steps.append(ViewStep(builder.define(node.outputs[0]), operand_))


def is_affine(node: Node) -> bool:
    """Whether ``lower_affine`` would take the loop."""
    attrs: LoopAttrs = node.attrs
    shape = loop_shape(attrs)
    if shape is None or (shape.reduced and attrs.combine == "assign"):
        return False
    parameters = Parameters(RegisterBuilder({}, is_open=True))
    operands = AffineOperands(node.inputs, attrs.extents, shape.new_axis)
    try:
        BodyConverter(parameters, operands.replace).convert(attrs.store.body)
        if shape.reduced or attrs.payload is not None:
            _check_reducible(attrs, shape)
    except NotAffine:
        return False
    return True


def lower_affine(node: Node, builder: PlanBuilder) -> bool:
    """Emit a fill, map or reduce step; False (and nothing) if it is not affine."""
    attrs: LoopAttrs = node.attrs
    shape = loop_shape(attrs)
    if shape is None or (shape.reduced and attrs.combine == "assign"):
        return False
    body = attrs.store.body
    if body.op == "const" and not shape.reduced:
        builder.steps.append(FillStep(builder.define(node.outputs[0]), body.attr))
        return True
    try:
        _lower_nest(node, shape, builder)
    except NotAffine:
        return False
    return True


def _lower_nest(node: Node, shape: LoopShape, builder: PlanBuilder) -> None:
    attrs: LoopAttrs = node.attrs
    parameters = Parameters(builder.registers)
    operands = AffineOperands(node.inputs, attrs.extents, shape.new_axis)
    value = BodyConverter(parameters, operands.replace).convert(attrs.store.body)
    is_map = not shape.reduced and attrs.payload is None
    if not is_map:
        _check_reducible(attrs, shape)
    read = tuple(
        operand(builder.number(v), maps, builder.registers)
        for v, maps in operands.addresses
    )
    output = output_operand(builder.define(node.outputs[0]), shape, builder)
    inputs = tuple(v.dtype for v, _ in operands.addresses)
    nest = _Nest(value, inputs, parameters, shape, read, output)
    if is_map:
        builder.steps.append(nest.map_step(attrs, builder))
    elif attrs.payload is None and wide_dtype(attrs.dtype) != attrs.dtype:
        nest.reduce_and_round(attrs, builder)
    else:
        builder.steps.append(nest.reduce_step(attrs, builder))


@dataclass(frozen=True, eq=False)
class _Nest:
    """The parts of an affine loop; its steps differ only in the kernel."""

    value: Expr
    inputs: tuple[str, ...]
    parameters: Parameters
    shape: LoopShape
    read: tuple[Operand, ...]
    output: Operand

    def map_step(self, attrs: LoopAttrs, builder: PlanBuilder) -> NestStep:
        params = self.parameters
        kernel = Kernel(Map((self.value,)), self.inputs, (attrs.dtype,), params.dtypes)
        return NestStep(
            form="map",
            kernel=builder.use(kernel, params.resolve(), params.messages),
            extents=self._extents(attrs, builder),
            num_stored=len(self.shape.stored),
            outputs=(self.output,),
            inputs=self.read,
        )

    def reduce_and_round(self, attrs: LoopAttrs, builder: PlanBuilder) -> None:
        """A half-precision result is rounded once, from the partial sums."""
        wide = wide_dtype(attrs.dtype)
        sums = builder.temporary(wide, attrs.shape)
        whole = replace(self, output=output_operand(sums, self.shape, builder))
        builder.steps.append(whole.reduce_step(attrs, builder, wide))
        rounding = Map((cast(load(0, (), wide), attrs.dtype),))
        builder.steps.append(
            NestStep(
                form="map",
                kernel=builder.use(Kernel(rounding, (wide,), (attrs.dtype,)), ()),
                extents=builder.sizes(attrs.extents[a] for a in self.shape.stored),
                num_stored=len(self.shape.stored),
                outputs=(self.output,),
                inputs=(whole.output,),
            )
        )

    def reduce_step(
        self, attrs: LoopAttrs, builder: PlanBuilder, dtype: str | None = None
    ) -> NestStep:
        indexed = attrs.payload is not None
        accumulator = wide_dtype(self.value.dtype if indexed else attrs.dtype)
        outputs: tuple[Operand, ...] = (self.output,)
        dtypes, params = self.parameters.dtypes, self.parameters.resolve()
        if indexed:  # the kernel also outputs the best value and takes its first index
            best = builder.temporary(accumulator, attrs.shape)
            outputs = (output_operand(best, self.shape, builder), self.output)
            dtypes, params = (*dtypes, "int64"), (*params, builder.registers.integer(0))
        form = Reduce(self.value, attrs.combine, accumulator)
        result = dtype or attrs.dtype
        results = (accumulator, result) if indexed else (result,)
        kernel = Kernel(form, self.inputs, results, dtypes)
        combine = combine_kernel(attrs.combine, accumulator)
        return NestStep(
            form="reduce",
            kernel=builder.use(kernel, params, self.parameters.messages),
            extents=self._extents(attrs, builder),
            num_stored=len(self.shape.stored),
            outputs=outputs,
            inputs=self.read,
            combine=builder.use(combine, ()),
            accumulator=accumulator,
            indexed=indexed,
        )

    def _extents(self, attrs: LoopAttrs, builder: PlanBuilder) -> tuple[int, ...]:
        return builder.sizes(attrs.extents[a] for a in self.shape.order)


def combine_kernel(combine: str, accumulator: str) -> Kernel:
    """The reduction of partial results of a reduction."""
    form = Reduce(load(0, (), accumulator), combine, accumulator)
    if combine.startswith("arg"):
        return Kernel(form, (accumulator,), (accumulator, "int64"), ("int64",))
    return Kernel(form, (accumulator,), (accumulator,))


def _check_reducible(attrs: LoopAttrs, shape: LoopShape) -> None:
    if attrs.payload is not None:
        _check_payload(attrs, shape)
    elif attrs.combine not in REDUCIBLE:
        raise NotAffine(f"combine {attrs.combine}")


def _check_payload(attrs: LoopAttrs, shape: LoopShape) -> None:
    """The kernel counts elements along the run: the payload must be that count."""
    assert attrs.payload is not None
    expected: Expr = const(0, "int64")
    for number in shape.reduced:
        expected = expected * attrs.extents[number] + axis(number)
    found = affine_map(attrs.payload)
    wanted = affine_map(expected)
    if found is None or wanted is None or not _same(found, wanted):
        raise NotAffine("the payload of an argmax is not its position")


def _same(a: Affine, b: Affine) -> bool:
    def terms(m: Affine) -> list[object]:
        return [polynomial(m.offset), [(x, polynomial(c)) for x, c in m.coefficients]]

    return terms(a) == terms(b)

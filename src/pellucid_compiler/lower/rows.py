"""Groups of loops that run as one kernel, row by row: softmax, layer_norm, their
gradients.

A group shares its stored axes (the rows) and its reduced axes (the columns). A
reduction in a group becomes one number per row, which its readers use directly, so
nothing is stored in between unless a node outside the group reads it. A sum over the
rows, such as the gradient of a layer norm's weight, is accumulated too: groups of rows
accumulate into numbers per column, which a reduction after the group sums.
``RowGroup.try_add`` decides; open_groups.py drives it. Read next: codegen/kernel.py
(the form ``rows``).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass

from pellucid_compiler.abi.plan import (
    NestStep,
    Operand,
)
from pellucid_compiler.codegen.kernel import (
    Kernel,
    Pass,
    Reduce,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
    RowStore,
)
from pellucid_compiler.ir.dtypes import is_real_float, wide_dtype
from pellucid_compiler.ir.expr import Expr, const, load, make, sym
from pellucid_compiler.ir.graph import Node, Value
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs
from pellucid_compiler.ir.traversal import has_checks, loads, rewrite
from pellucid_compiler.lower.affine import Affine, operand
from pellucid_compiler.lower.bodies import (
    AffineOperands,
    BodyConverter,
    NotAffine,
    Parameters,
)
from pellucid_compiler.lower.builder import PlanBuilder
from pellucid_compiler.lower.loops import (
    REDUCIBLE,
    LoopShape,
    combine_kernel,
    loop_shape,
    plain_maps,
)

MAX_OPERANDS = 16
MAX_MEMBERS = 16  # loops of a group, to bound a kernel's size
_OUTPUTS = 1 << 16  # operand numbers of outputs until the inputs are counted

# Rows that accumulate into one set of sums: few, for accuracy; enough elements for a
# thread.
_FEW_ROWS, _MANY_ROWS, _ELEMENTS = 8, 64, 32768


@dataclass(frozen=True)
class _Member:
    """A loop of the group and the mapping of its axes to the group's.

    ``on_group`` maps the loop's axes to rows (0 .. stored-1) and columns (stored ..).
    ``per_row``: it yields one number per row. ``per_column``: it sums over the rows.
    """

    node: Node
    shape: LoopShape
    on_group: dict[int, int]
    per_row: bool
    per_column: bool = False

    @property
    def attrs(self) -> LoopAttrs:
        attrs: LoopAttrs = self.node.attrs
        return attrs

    @property
    def stored_dtype(self) -> str:
        dtype = self.attrs.dtype
        return wide_dtype(dtype) if self.per_column else dtype

    @property
    def store_axes(self) -> tuple[int | None, ...]:
        axes = self.shape.store_axes
        return tuple(None if a is None else self.on_group[a] for a in axes)


class RowGroup:
    """Consecutive loops over the same rows; the first one is a reduction, or the maps
    that it reads precede it (``prepend``).
    """

    def __init__(self, node: Node, shape: LoopShape) -> None:
        attrs: LoopAttrs = node.attrs
        self.rows = tuple(attrs.extents[a] for a in shape.stored)
        self.columns = tuple(attrs.extents[a] for a in shape.reduced)
        self.members = [_Member(node, shape, shape.new_axis, per_row=True)]
        self.made = {node.outputs[0]: self.members[0]}

    @staticmethod
    def start(node: Node) -> RowGroup | None:
        """A group that begins with this loop, if it is a plain reduction."""
        if node.primitive is not LOOP:
            return None
        shape = loop_shape(node.attrs)
        if shape is None or not shape.reduced or not _is_reducible(node, shape):
            return None
        return RowGroup(node, shape) if _reads_runs(node, shape) else None

    def prepend(self, node: Node) -> bool:
        """Let the group of one reduction begin with a map that it reads and whose value
        is also used elsewhere; False if their elements do not correspond.
        """
        (first,) = self.members
        shape = loop_shape(node.attrs)
        if shape is None or shape.reduced or not _is_reducible(node, shape):
            return False
        space = self.rows + self.columns
        for e in loads(first.attrs.store.body):
            if first.node.inputs[e.attr] is not node.outputs[0]:
                continue
            on_group: dict[int, int] = {}
            for index, axis in zip(e.args, shape.store_axes, strict=True):
                if axis is None or index.op != "axis":
                    return False
                on_group[axis] = first.on_group[index.attr]
            covers = sorted(on_group.values()) == list(range(len(space)))
            extents = node.attrs.extents
            if not covers or any(
                extents[a] is not space[g] for a, g in on_group.items()
            ):
                return False
            self.members = [_Member(node, shape, on_group, per_row=False), first]
            self.made = {m.node.outputs[0]: m for m in self.members}
            return all(map(self._reads_in_place, self.members))
        return False

    @property
    def inputs(self) -> dict[Value, None]:
        """What the members read, including their own results."""
        return dict.fromkeys(v for member in self.members for v in member.node.inputs)

    def try_add(self, node: Node) -> bool:
        """Add the loop if it walks the same rows; False if it must stay outside."""
        member = self._fit(node) if len(self.members) < MAX_MEMBERS else None
        if member is None:
            return False
        self.members.append(member)
        self.made[node.outputs[0]] = member
        return True

    def _fit(self, node: Node) -> _Member | None:
        if node.primitive is not LOOP:
            return None
        shape = loop_shape(node.attrs)
        if shape is None or not _is_reducible(node, shape):
            return None
        for order in dict.fromkeys((shape.order, shape.reduced + shape.stored)):
            on_group = self._placement(node, shape, order)
            if on_group is None:
                continue
            member = self._member(node, shape, on_group)
            if member is not None and self._reads_in_place(member):
                return member
        return None

    def _member(
        self, node: Node, shape: LoopShape, on_group: dict[int, int]
    ) -> _Member | None:
        """The loop as a member; None if it covers neither rows nor points."""
        rank, count = len(self.rows), len(self.rows) + len(self.columns)
        rows, points = set(range(rank)), set(range(count))
        covered = set(on_group.values())
        if not shape.reduced:
            member = _Member(node, shape, on_group, covered == rows)
            if member.per_row:
                return member
            return member if covered == points and self._walks(member) else None
        reduced = {on_group[a] for a in shape.reduced}
        if covered != points:
            return None
        if reduced == points - rows:
            return _Member(node, shape, on_group, per_row=True)
        if reduced != rows or not _is_sum(node.attrs):
            return None
        member = _Member(node, shape, on_group, per_row=False, per_column=True)
        everyone = (*self.members, member)
        return member if all(map(self._reads_whole_rows, everyone)) else None

    def _walks(self, member: _Member) -> bool:
        """Whether a map can run along the group's rows; others are excluded."""
        return self._reads_whole_rows(member) or not self._reads_whole_rows(
            self.members[0]
        )

    def _placement(
        self, node: Node, shape: LoopShape, order: tuple[int, ...]
    ) -> dict[int, int] | None:
        """The group axis of each loop axis: determined by the group's values that it
        reads, the others in ``order``.
        """
        attrs: LoopAttrs = node.attrs
        space = self.rows + self.columns
        found: dict[int, int] = {}
        for e in loads(attrs.store.body):
            member = self.made.get(node.inputs[e.attr])
            if member is None or e.op != "load":
                continue
            for index, axis in zip(e.args, member.store_axes, strict=True):
                if axis is None or index.op != "axis":
                    continue
                if found.setdefault(index.attr, axis) != axis:
                    return None
        rest = [a for a in order if a not in found]
        free = [g for g in range(len(space)) if g not in found.values()]
        if len(rest) == len(free):
            found.update(zip(rest, free, strict=True))
        in_place = len(set(found.values())) == len(found) and all(
            attrs.extents[a] is space[g] for a, g in found.items()
        )
        return found if in_place and len(found) == len(attrs.extents) else None

    def _reads_in_place(self, member: _Member) -> bool:
        """Whether every value of the group is read at the member's own row (and
        column).
        """
        for e in loads(member.attrs.store.body):
            maker = self.made.get(member.node.inputs[e.attr])
            if maker is None:
                continue
            if e.op != "load" or maker.per_column:
                return False
            for index, axis in zip(e.args, maker.store_axes, strict=True):
                if axis is None:
                    continue
                if index.op != "axis" or member.on_group[index.attr] != axis:
                    return False
        return True

    @property
    def is_worthwhile(self) -> bool:
        """Whether a second pass over the row follows; otherwise separate reductions
        split better.

        The columns must be the last dims of what is read, so that rows of tensors in
        the usual layout are contiguous; a reduction can run across rows.
        """
        first = next(k for k, m in enumerate(self.members) if m.shape.reduced)
        after = self.members[first + 1 :]
        follows = any(m.shape.reduced or not m.per_row for m in after)
        return follows and all(map(self._reads_whole_rows, self.members))

    def _reads_whole_rows(self, member: _Member) -> bool:
        rank, count = len(self.rows), len(self.columns)
        for e in loads(member.attrs.store.body):
            along = [
                member.on_group[i.attr] if i.op == "axis" else None for i in e.args
            ]
            columns = [a for a in along if a is not None and a >= rank]
            if columns and along[-count:] != list(range(rank, rank + count)):
                return False
        return True

    def lower(self, builder: PlanBuilder, is_wanted: Callable[[Value], bool]) -> None:
        """Emit the group as one rows step; NotAffine if a body needs indices."""
        _GroupLowering(self, builder, is_wanted).run()


def _is_sum(attrs: LoopAttrs) -> bool:
    return attrs.combine == "sum" and is_real_float(attrs.dtype)


def _reads_runs(node: Node, shape: LoopShape) -> bool:
    """Whether the columns are adjacent dims of what is read; otherwise, as for the
    batch and the pixels of a channel, they do not form a row with one stride.
    """
    columns = set(shape.reduced)
    for e in loads(node.attrs.store.body):
        places = [
            d for d, i in enumerate(e.args) if i.op == "axis" and i.attr in columns
        ]
        if places and places[-1] - places[0] + 1 != len(places):
            return False
    return True


def _is_reducible(node: Node, shape: LoopShape) -> bool:
    attrs: LoopAttrs = node.attrs
    if attrs.payload is not None or has_checks(attrs.store.body):
        return False
    return not shape.reduced or attrs.combine in REDUCIBLE


class _GroupLowering:
    """Lowers one group to one step: passes, operands and parameters."""

    def __init__(
        self, group: RowGroup, builder: PlanBuilder, is_wanted: Callable[[Value], bool]
    ) -> None:
        self.group, self.builder, self.is_wanted = group, builder, is_wanted
        self.parameters = Parameters(builder.registers)
        self.passes: list[Pass] = []
        self.inputs: dict[tuple[Value, tuple[Affine, ...]], int] = {}
        self.outputs: list[_Member] = []
        self.numbers: dict[Value, Expr] = {}
        self.partial_sums: list[tuple[_Member, int]] = []
        self.num_results = 0

    def run(self) -> None:
        for member in self.group.members:
            self._add(member)
        passes = tuple(self._resolve_outputs(item) for item in self.passes)
        kernel = Kernel(
            Rows(passes, self._per_row()),
            tuple(value.dtype for value, _ in self.inputs),
            tuple(member.stored_dtype for member in self.outputs),
            self.parameters.dtypes,
        )
        if len(self.inputs) + len(self.outputs) > MAX_OPERANDS:
            raise NotAffine("the group has too many operands for one kernel")
        self._emit(kernel)

    def _per_row(self) -> tuple[int, ...]:
        """The inputs that are constant along the columns."""
        rank = len(self.group.rows)
        return tuple(
            number
            for (_, maps), number in self.inputs.items()
            if all(axis < rank for m in maps for axis, _ in m.coefficients)
        )

    def _emit(self, kernel: Kernel) -> None:
        builder = self.builder
        read = tuple(
            operand(builder.number(value), maps, builder.registers)
            for value, maps in self.inputs
        )
        params = self.parameters.resolve()
        builder.steps.append(
            NestStep(
                form="rows",
                kernel=builder.use(kernel, params),
                extents=builder.sizes(self.group.rows + self.group.columns),
                num_stored=len(self.group.rows),
                outputs=tuple(self._output(member) for member in self.outputs),
                inputs=read,
                sums=tuple(k for k, m in enumerate(self.outputs) if m.per_column),
            )
        )
        for member, partial in self.partial_sums:
            self._emit_total(member, partial)

    def _output(self, member: _Member) -> Operand:
        if member.per_column:
            return self._partial_sums(member)
        number = self.builder.define(member.node.outputs[0])
        maps = plain_maps(member.store_axes)
        return operand(number, maps, self.builder.registers)

    def _partial_sums(self, member: _Member) -> Operand:
        """The sums that groups of rows accumulate into, with one row per group."""
        rows, columns = self.group.rows, self.group.columns
        accumulator = wide_dtype(member.attrs.dtype)
        made = self.builder.temporary(accumulator, (self._num_groups(), *columns))
        self.partial_sums.append((member, made))
        axes = range(len(rows), len(rows) + len(columns))
        return operand(made, plain_maps((None, *axes)), self.builder.registers)

    def _num_groups(self) -> Expr:
        rows = functools.reduce(operator.mul, self.group.rows)
        columns = functools.reduce(operator.mul, self.group.columns)
        few, many, one = (const(n, "int64") for n in (_FEW_ROWS, _MANY_ROWS, 1))
        size = make("minimum", _ELEMENTS // make("maximum", columns, one), many)
        size = make("maximum", size, few)
        return (rows + size - 1) // size

    def _emit_total(self, member: _Member, partial: int) -> None:
        """Emit the reduction of all groups' sums."""
        builder, columns = self.builder, self.group.columns
        accumulator = wide_dtype(member.attrs.dtype)
        form = Reduce(load(0, (), accumulator), "sum", accumulator)
        kernel = Kernel(form, (accumulator,), (member.attrs.dtype,))
        rank, last = len(self.group.rows), len(columns)
        number = builder.define(member.node.outputs[0])
        stored = [None if a is None else a - rank for a in member.store_axes]
        read = plain_maps((last, *range(last)))
        builder.steps.append(
            NestStep(
                form="reduce",
                kernel=builder.use(kernel, ()),
                extents=builder.sizes((*columns, self._num_groups())),
                num_stored=last,
                outputs=(operand(number, plain_maps(stored), builder.registers),),
                inputs=(operand(partial, read, builder.registers),),
                combine=builder.use(combine_kernel("sum", accumulator), ()),
                accumulator=accumulator,
            )
        )

    def _add(self, member: _Member) -> None:
        value = self._convert(member)
        made = member.node.outputs[0]
        if member.per_column:
            self.passes.append(RowAdd(value, len(self.outputs)))
            self.outputs.append(member)
            return
        if member.shape.reduced:
            accumulator = wide_dtype(member.attrs.dtype)
            self.passes.append(RowReduce(value, member.attrs.combine, accumulator))
            value = sym(f"r{self.num_results}", member.attrs.dtype)
            self.num_results += 1
        if member.per_row:
            self.numbers[made] = value
        if not member.per_row:
            self.passes.append(RowMap(value, len(self.outputs)))
            self.outputs.append(member)
        elif self.is_wanted(made):
            self.passes.append(RowStore(value, len(self.outputs)))
            self.outputs.append(member)

    def _convert(self, member: _Member) -> Expr:
        operands = AffineOperands(
            member.node.inputs, member.attrs.extents, member.on_group
        )

        def replace(e: Expr, guarded: bool) -> Expr:
            source = member.node.inputs[e.attr]
            if source in self.numbers:
                return self.numbers[source]
            if source in self.group.made:
                position = self.outputs.index(self.group.made[source])
                return load(_OUTPUTS + position, (), e.dtype)
            if e.op != "load":
                raise NotAffine(f"{e} is padded")
            address = operands.address(e, guarded)
            return load(self.inputs.setdefault(address, len(self.inputs)), (), e.dtype)

        return BodyConverter(self.parameters, replace).convert(member.attrs.store.body)

    def _resolve_outputs(self, item: Pass) -> Pass:
        """Loads of the group's own outputs, now that the number of inputs is known."""

        def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
            if e.op == "load" and e.attr >= _OUTPUTS:
                return load(e.attr - _OUTPUTS + len(self.inputs), (), e.dtype)
            return None

        value = rewrite(item.value, leaf)
        if isinstance(item, RowReduce):
            return RowReduce(value, item.combine, item.accumulator)
        return type(item)(value, item.output)

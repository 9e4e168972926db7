"""Steps that run block by block: attention and its gradient.

A product, what its rows become (a softmax) and the next product would write matrices to
memory that nobody else reads. Where the steps share axes (batch, head, query) they run
together instead: all of them on one block of these axes, then on the next one. What
they hand to each other then has the size of a block and stays in the cache.

The shared axes are *walked*. A product may add along a walked axis, as the gradients of
keys and values add over queries: such an axis is walked in order, the others in
parallel. Columns that a comparison of indices excludes from a whole block are left out
(``triangle.py``). ``block_steps`` runs on a finished list of steps, so that it knows no
op; builder.py calls it. Read next: runtime/plan/block_driver.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.lower.plan import (
    NO_REGISTER,
    BlockStep,
    ComputeStep,
    DimMap,
    GemmStep,
    LocalValue,
    NestStep,
    NonzeroStep,
    Operand,
    PlanValue,
    Register,
    Step,
    step_inputs,
    step_outputs,
)
from pellucid_compiler.lower.triangle import triangle

ADDING = frozenset(("float32", "float64", "int32", "int64"))
"""Dtypes whose products can add to a result: their sums are no wider than it."""


@dataclass(frozen=True)
class _Steps:
    """The steps of a plan and what is known of its values."""

    steps: Sequence[Step]
    values: Sequence[PlanValue]
    kernels: Mapping[bytes, Kernel]
    outputs: frozenset[int]
    makers: Mapping[int, int]

    def readers(self, value: int) -> list[int]:
        return [k for k, s in enumerate(self.steps) if value in step_inputs(s)]

    def member(self, number: int) -> NestStep | GemmStep:
        step = self.steps[number]
        assert isinstance(step, (NestStep, GemmStep))
        return step

    def operands(self, number: int) -> tuple[Operand, ...]:
        step = self.member(number)
        made = (step.output,) if isinstance(step, GemmStep) else step.outputs
        return (*made, *step.inputs)


def block_steps(
    steps: Sequence[Step],
    values: Sequence[PlanValue],
    kernels: Mapping[bytes, Kernel],
    outputs: Sequence[int],
) -> list[Step]:
    """``steps`` with those that share axes made one step that runs block by block."""
    made = [value for step in steps for value in step_outputs(step)]
    makers = {
        value: k
        for k, step in enumerate(steps)
        for value in step_outputs(step)
        if made.count(value) == 1
    }
    plan = _Steps(steps, values, kernels, frozenset(outputs), makers)
    for number, step in enumerate(steps):
        if isinstance(step, NestStep) and step.form == "rows":
            group = _grown(plan, number)
            if group is not None:
                before, inside, after = _arranged(plan, group)
                rest = block_steps(after, values, kernels, outputs)
                return [*before, inside, *rest]
    return list(steps)


# ------------------------------------------------------- which steps, which axes


@dataclass(frozen=True)
class _Group:
    """Steps by number and their axes as classes; ``shared`` classes are in all."""

    members: tuple[int, ...]
    classes: Mapping[int, tuple[int, ...]]
    shared: tuple[int, ...]

    def position(self, number: int, cls: int) -> int:
        return self.classes[number].index(cls)


def _grown(plan: _Steps, rows: int) -> _Group | None:
    """The group around a rows step that reads a product, or that a product reads."""
    for value in step_inputs(plan.steps[rows]):
        maker = plan.makers.get(value)
        if maker is not None and isinstance(plan.steps[maker], GemmStep):
            group = _group(plan, (maker, rows))
            if group is not None:
                return _extended(plan, group)
    return None


def _extended(plan: _Steps, group: _Group) -> _Group:
    """``group`` with every neighbour that has all of its shared axes."""
    for number in _neighbours(plan, group):
        wider = _group(plan, tuple(sorted((*group.members, number))))
        if wider is not None and len(wider.shared) == len(group.shared):
            return _extended(plan, wider)
    return group


def _neighbours(plan: _Steps, group: _Group) -> Iterator[int]:
    for member in group.members:
        for value in step_inputs(plan.steps[member]):
            if value in plan.makers and plan.makers[value] not in group.members:
                yield plan.makers[value]
        for value in step_outputs(plan.steps[member]):
            yield from (k for k in plan.readers(value) if k not in group.members)


def _group(plan: _Steps, members: tuple[int, ...]) -> _Group | None:
    """The members as a group, if they can run block by block."""
    if not all(_may_join(plan, number) for number in members):
        return None
    if not _is_movable(plan, members):
        return None
    classes = _axis_classes(plan, members)
    if classes is None:
        return None
    shared = _shared(plan, members, classes)
    return _Group(members, classes, shared) if shared else None


def _may_join(plan: _Steps, number: int) -> bool:
    step = plan.steps[number]
    if isinstance(step, NestStep):
        reduced = len(step.extents) - step.kept
        return (step.form, reduced) in (("map", 0), ("rows", 1)) and not step.sums
    return isinstance(step, GemmStep) and not step.padded


def _is_movable(plan: _Steps, members: Sequence[int]) -> bool:
    """Whether the steps between the members can run before or after all of them."""
    first, last = members[0], members[-1]
    ran = set(members)
    for number in range(first, last + 1):
        step = plan.steps[number]
        if isinstance(step, (ComputeStep, NonzeroStep)):
            return False
        if not all(value in plan.makers for value in step_outputs(step)):
            return False  # written in parts: the order of the writers counts
        makers = {plan.makers.get(value) for value in step_inputs(step)}
        if number in members:
            if makers & ran - set(members):
                return False
        elif makers & ran:
            ran.add(number)
    return True


def _axis_classes(
    plan: _Steps, members: Sequence[int]
) -> dict[int, tuple[int, ...]] | None:
    """Per member the class of each axis: axes along one dim of a value that a member
    hands to another are one class. None if a value is read out of place.
    """
    parent: dict[tuple[int, int], tuple[int, int]] = {}

    def root(axis: tuple[int, int]) -> tuple[int, int]:
        while parent.setdefault(axis, axis) != axis:
            axis = parent[axis]
        return axis

    for number in members:
        for operand in plan.operands(number):
            maker = plan.makers.get(operand.value, number)
            if maker == number or maker not in members:
                continue
            pairs = _paired_axes(plan, operand, number, maker)
            if pairs is None:
                return None
            for mine, its in pairs:
                parent[root((number, mine))] = root((maker, its))
    names: dict[tuple[int, int], int] = {}
    return {
        number: tuple(
            names.setdefault(root((number, axis)), len(names))
            for axis in range(len(plan.member(number).extents))
        )
        for number in members
    }


def _paired_axes(
    plan: _Steps, read: Operand, reader: int, maker: int
) -> list[tuple[int, int]] | None:
    """The axes of reader and maker along each dim of a value; None if they differ."""
    made = next(o for o in plan.operands(maker) if o.value == read.value)
    pairs = []
    for mine, its in zip(read.dims, made.dims, strict=True):
        if not _is_plain(mine) or len(mine.terms) != len(its.terms):
            return None
        for (a, _), (b, _) in zip(mine.terms, its.terms, strict=True):
            if plan.member(reader).extents[a] != plan.member(maker).extents[b]:
                return None
            pairs.append((a, b))
    return pairs


def _is_plain(dim: DimMap) -> bool:
    """Whether the dim lies along one axis, or along none."""
    return (
        dim.offset == NO_REGISTER
        and len(dim.terms) <= 1
        and all(coefficient == NO_REGISTER for _, coefficient in dim.terms)
    )


def _shared(
    plan: _Steps, members: Sequence[int], classes: Mapping[int, tuple[int, ...]]
) -> tuple[int, ...]:
    """The classes that can be walked, in the order of the first member's axes."""
    inside = {v for k in members for v in step_inputs(plan.steps[k])}
    shared = []
    for cls in dict.fromkeys(classes[members[0]]):
        if all(_is_walkable(plan, k, cls, classes[k], inside) for k in members):
            shared.append(cls)
    return tuple(shared)


def _is_walkable(
    plan: _Steps, number: int, cls: int, axes: Sequence[int], inside: set[int]
) -> bool:
    """Whether the step may run on parts of the class: it does not mix its points, or it
    adds to a result that no member reads before it is complete.
    """
    if axes.count(cls) != 1:
        return False
    step, axis = plan.steps[number], axes.index(cls)
    if isinstance(step, NestStep):
        return axis < step.kept
    assert isinstance(step, GemmStep)
    if axis < sum(step.groups[:3]):
        return True
    value = step.output.value
    return value not in inside and plan.values[value].dtype in ADDING


# --------------------------------------------------------------------- the step


def _arranged(plan: _Steps, group: _Group) -> tuple[list[Step], BlockStep, list[Step]]:
    """The steps before the group, the group, the steps after it."""
    first, last = group.members[0], group.members[-1]
    before, after = list(plan.steps[:first]), []
    ran = set(group.members)
    for number in range(first, last + 1):
        if number in group.members:
            continue
        if {plan.makers.get(v) for v in step_inputs(plan.steps[number])} & ran:
            ran.add(number)
            after.append(plan.steps[number])
        else:
            before.append(plan.steps[number])
    return before, _block_step(plan, group), [*after, *plan.steps[last + 1 :]]


def _block_step(plan: _Steps, group: _Group) -> BlockStep:
    in_turn = [c for c in group.shared if _adds_along(plan, group, c)]
    cut = group.shared[-1]
    outer = [c for c in group.shared[:-1] if c not in in_turn]
    turns = [c for c in group.shared[:-1] if c in in_turn]
    rest = {c for axes in group.classes.values() for c in axes} - set(group.shared)
    order = [*outer, *turns, cut, *sorted(rest)]
    number_of = {cls: k for k, cls in enumerate(order)}
    axes = tuple(
        tuple(number_of[c] for c in group.classes[member]) for member in group.members
    )
    members = tuple(plan.member(member) for member in group.members)
    locals_ = _locals(plan, group)
    return BlockStep(
        steps=members,
        axes=axes,
        extents=tuple(_extent(plan, group, cls) for cls in order),
        parallel=len(outer),
        in_turn=len(turns),
        cut_in_turn=cut in in_turn,
        locals=locals_,
        triangle=triangle(
            members, axes, len(outer) + len(turns), locals_, plan.steps, plan.kernels
        ),
    )


def _adds_along(plan: _Steps, group: _Group, cls: int) -> bool:
    """Whether a product of the group has the class in its depth."""
    for member in group.members:
        step, position = plan.member(member), group.position(member, cls)
        if isinstance(step, GemmStep) and position >= sum(step.groups[:3]):
            return True
    return False


def _extent(plan: _Steps, group: _Group, cls: int) -> Register:
    return next(
        plan.member(member).extents[axes.index(cls)]
        for member, axes in group.classes.items()
        if cls in axes
    )


def _locals(plan: _Steps, group: _Group) -> tuple[LocalValue, ...]:
    """The values that only members see, each in a slot that is free until its last use.

    Values of one slot have the same dtype and the same axes.
    """
    last_use: dict[int, int] = {}
    for member in group.members:
        for value in (
            *step_inputs(plan.steps[member]),
            *step_outputs(plan.steps[member]),
        ):
            last_use[value] = member
    kinds: list[object] = []
    busy: dict[int, int] = {}
    found = []
    for member in group.members:
        busy = {slot: v for slot, v in busy.items() if last_use[v] >= member}
        for value in step_outputs(plan.steps[member]):
            if not _is_local(plan, group, value):
                continue
            kind = (plan.values[value].dtype, plan.values[value].sizes)
            slot = next(
                (k for k, own in enumerate(kinds) if own == kind and k not in busy),
                len(kinds),
            )
            if slot == len(kinds):
                kinds.append(kind)
            busy[slot] = value
            found.append(LocalValue(value, slot))
    return tuple(found)


def _is_local(plan: _Steps, group: _Group, value: int) -> bool:
    readers = plan.readers(value)
    return (
        value not in plan.outputs
        and bool(readers)
        and all(reader in group.members for reader in readers)
    )

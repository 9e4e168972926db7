"""Which steps of a plan share axes and can run block by block, and along which axes.

A group grows from a rows step next to a product, one neighbour at a time. It has at
most ``MAX_MEMBERS`` steps within ``MAX_SPAN`` steps of the plan: the operands of a
block must fit into the cache together, and the search must not cover a whole model.
Called only by blocks.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pellucid_compiler.abi.plan import (
    NO_REGISTER,
    ComputeStep,
    DimMap,
    GemmStep,
    NestStep,
    NonzeroStep,
    Operand,
    PlanValue,
    Step,
)
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.lower.plan import (
    step_inputs,
    step_outputs,
)

MAX_MEMBERS: Final = 16
MAX_SPAN: Final = 64

ADDING = frozenset(("float32", "float64", "int32", "int64"))
"""Dtypes whose products can accumulate into a result: their sums have its dtype."""


class OpenSteps:
    """The steps of a plan by number, and the producer and readers of each value.

    ``retire`` removes steps whose position in the finished list is final; the rest is
    grouped as a plan of its own.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        values: Sequence[PlanValue],
        kernels: Mapping[bytes, Kernel],
        outputs: Sequence[int],
    ) -> None:
        self.steps, self.values, self.kernels = steps, values, kernels
        self.outputs = frozenset(outputs)
        self.is_open = [True] * len(steps)
        self.inputs = [step_inputs(step) for step in steps]
        self.made = [step_outputs(step) for step in steps]
        self._writers: dict[int, list[int]] = {}
        self._readers: dict[int, list[int]] = {}
        for number in range(len(steps)):
            for value in self.made[number]:
                self._writers.setdefault(value, []).append(number)
            for value in dict.fromkeys(self.inputs[number]):
                self._readers.setdefault(value, []).append(number)

    def retire(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.is_open[number] = False
            for value in self.made[number]:
                self._writers[value].remove(number)

    def open_between(self, first: int, end: int) -> list[int]:
        return [k for k in range(first, end) if self.is_open[k]]

    def maker(self, value: int) -> int | None:
        """The step that computes the whole value; None if several write parts of it."""
        writers = self._writers.get(value, ())
        return writers[0] if len(writers) == 1 else None

    def makers(self, number: int) -> set[int | None]:
        """The producers of what a step reads; None for values without one."""
        return {self.maker(value) for value in self.inputs[number]}

    def readers(self, value: int) -> list[int]:
        return [k for k in self._readers.get(value, ()) if self.is_open[k]]

    def member(self, number: int) -> NestStep | GemmStep:
        step = self.steps[number]
        assert isinstance(step, (NestStep, GemmStep))
        return step

    def operands(self, number: int) -> tuple[Operand, ...]:
        step = self.member(number)
        made = (step.output,) if isinstance(step, GemmStep) else step.outputs
        return (*made, *step.inputs)


@dataclass(frozen=True)
class Group:
    """Steps by number and their axes as classes; ``shared`` classes are in all."""

    members: tuple[int, ...]
    classes: Mapping[int, tuple[int, ...]]
    shared: tuple[int, ...]

    def position(self, number: int, cls: int) -> int:
        return self.classes[number].index(cls)


def group_around(plan: OpenSteps, rows: int) -> Group | None:
    """The group of a rows step that reads a product, with all steps that fit."""
    for value in plan.inputs[rows]:
        maker = plan.maker(value)
        if maker is not None and isinstance(plan.steps[maker], GemmStep):
            group = _group(plan, (maker, rows))
            if group is not None:
                return _extended(plan, group)
    return None


def _extended(plan: OpenSteps, group: Group) -> Group:
    """``group`` extended by every neighbour that has all of its shared axes."""
    wider: Group | None = group
    while wider is not None:
        group, wider = wider, _widened(plan, wider)
    return group


def _widened(plan: OpenSteps, group: Group) -> Group | None:
    """``group`` extended by the first neighbour that fits; None if none does."""
    if len(group.members) == MAX_MEMBERS:
        return None
    for number in dict.fromkeys(_neighbours(plan, group)):
        wider = _group(plan, tuple(sorted((*group.members, number))))
        if wider is not None and len(wider.shared) == len(group.shared):
            return wider
    return None


def _neighbours(plan: OpenSteps, group: Group) -> Iterator[int]:
    for member in group.members:
        for value in plan.inputs[member]:
            maker = plan.maker(value)
            if maker is not None and maker not in group.members:
                yield maker
        for value in plan.made[member]:
            yield from (k for k in plan.readers(value) if k not in group.members)


def _group(plan: OpenSteps, members: tuple[int, ...]) -> Group | None:
    """The members as a group, if they can run block by block."""
    if members[-1] - members[0] >= MAX_SPAN:
        return None
    if not all(_can_block(plan.steps[number]) for number in members):
        return None
    if not _is_movable(plan, members):
        return None
    classes = _axis_classes(plan, members)
    if classes is None:
        return None
    shared = _shared(plan, members, classes)
    return Group(members, classes, shared) if shared else None


def _can_block(step: Step) -> bool:
    if isinstance(step, NestStep):
        reduced = len(step.extents) - step.num_stored
        return (step.form, reduced) in (("map", 0), ("rows", 1)) and not step.sums
    return isinstance(step, GemmStep) and not step.padded


def _is_movable(plan: OpenSteps, members: Sequence[int]) -> bool:
    """Whether the steps between the members can run before or after all of them."""
    ran, inside = set(members), set(members)
    for number in plan.open_between(members[0], members[-1] + 1):
        if isinstance(plan.steps[number], (ComputeStep, NonzeroStep)):
            return False
        if any(plan.maker(value) is None for value in plan.made[number]):
            return False  # written in parts: the order of the writers counts
        reached = plan.makers(number) & ran
        if number not in inside:
            if reached:
                ran.add(number)
        elif not reached <= inside:
            return False
    return True


def _axis_classes(
    plan: OpenSteps, members: Sequence[int]
) -> dict[int, tuple[int, ...]] | None:
    """Per member the class of each axis: axes along one dim of a value passed between
    members form one class. None if a value is read out of place.
    """
    parent: dict[tuple[int, int], tuple[int, int]] = {}

    def root(axis: tuple[int, int]) -> tuple[int, int]:
        while parent.setdefault(axis, axis) != axis:
            axis = parent[axis]
        return axis

    for number in members:
        for operand in plan.operands(number):
            maker = plan.maker(operand.value)
            if maker is None or maker == number or maker not in members:
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
    plan: OpenSteps, read: Operand, reader: int, maker: int
) -> list[tuple[int, int]] | None:
    """The axes of reader and maker along each dim of a value; None if they differ."""
    made = next(o for o in plan.operands(maker) if o.value == read.value)
    pairs = []
    for mine, its in zip(read.dims, made.dims, strict=True):
        if not is_plain(mine) or len(mine.terms) != len(its.terms):
            return None
        for (a, _), (b, _) in zip(mine.terms, its.terms, strict=True):
            if plan.member(reader).extents[a] != plan.member(maker).extents[b]:
                return None
            pairs.append((a, b))
    return pairs


def is_plain(dim: DimMap) -> bool:
    """Whether the dim follows exactly one axis, or none."""
    return (
        dim.offset == NO_REGISTER
        and len(dim.terms) <= 1
        and all(coefficient == NO_REGISTER for _, coefficient in dim.terms)
    )


def _shared(
    plan: OpenSteps, members: Sequence[int], classes: Mapping[int, tuple[int, ...]]
) -> tuple[int, ...]:
    """The classes that can be walked, in the order of the first member's axes."""
    inside = {value for k in members for value in plan.inputs[k]}
    shared = []
    for cls in dict.fromkeys(classes[members[0]]):
        if all(_is_walkable(plan, k, cls, classes[k], inside) for k in members):
            shared.append(cls)
    return tuple(shared)


def _is_walkable(
    plan: OpenSteps, number: int, cls: int, axes: Sequence[int], inside: set[int]
) -> bool:
    """Whether the step may run on parts of the class: it does not mix points along it,
    or it adds to a result that no member reads before it is complete.
    """
    if axes.count(cls) != 1:
        return False
    step, axis = plan.steps[number], axes.index(cls)
    if isinstance(step, NestStep):
        return axis < step.num_stored
    assert isinstance(step, GemmStep)
    if axis < sum(step.groups[:3]):
        return True
    value = step.output.value
    return value not in inside and plan.values[value].dtype in ADDING

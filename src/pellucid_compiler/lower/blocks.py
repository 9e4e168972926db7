"""Steps that run block by block: attention and its gradient.

A product, an op on its rows (a softmax) and the next product would write matrices to
memory that nothing else reads. If the steps share axes (batch, head, query), they run
together instead: all of them on one block of these axes, then on the next. The values
passed between them then have the size of a block and stay in the cache.

The shared axes are *walked*. A product may sum along a walked axis, as the gradients of
keys and values sum over queries: such an axis is walked in order, the others in
parallel. Columns that a comparison of indices excludes for a whole block are skipped
(``triangle.py``). ``block_steps`` runs on a finished list of steps, so that it knows no
op; builder.py calls it. Read next: block_groups.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pellucid_compiler.abi.plan import (
    BlockStep,
    GemmStep,
    LocalValue,
    NestStep,
    PlanValue,
    Register,
    Step,
)
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.lower.block_groups import Group, OpenSteps, group_around
from pellucid_compiler.lower.block_kernels import Use, whole_kernel
from pellucid_compiler.lower.triangle import index_values, triangle


def block_steps(
    steps: Sequence[Step],
    values: Sequence[PlanValue],
    kernels: Mapping[bytes, Kernel],
    outputs: Sequence[int],
    use: Use,
) -> list[Step]:
    """``steps`` with those that share axes merged into block steps. ``use`` notes the
    kernels that these are on devices.
    """
    if not any(map(_is_rows, steps)):
        return list(steps)
    plan = OpenSteps(steps, values, kernels, outputs)
    indices = index_values(steps, kernels)
    finished: list[Step] = []
    start = number = 0  # steps before ``start`` are final
    while number < len(steps):
        is_candidate = plan.is_open[number] and _is_rows(steps[number])
        group = group_around(plan, number) if is_candidate else None
        if group is None:
            number += 1
            continue
        before = _steps_before(plan, group, start)
        block = whole_kernel(_block_step(plan, group, indices), kernels, use)
        finished += [*(steps[k] for k in before), block]
        plan.retire((*before, *group.members))
        start = number = group.members[0]
    return finished + [steps[k] for k in plan.open_between(start, len(steps))]


def _is_rows(step: Step) -> bool:
    return isinstance(step, NestStep) and step.form == "rows"


def _steps_before(plan: OpenSteps, group: Group, start: int) -> list[int]:
    """The open steps that run before the group: those that do not depend on it."""
    first, last = group.members[0], group.members[-1]
    before, ran = plan.open_between(start, first), set(group.members)
    for number in plan.open_between(first, last + 1):
        if number in group.members:
            continue
        if plan.makers(number) & ran:
            ran.add(number)
        else:
            before.append(number)
    return before


def _block_step(plan: OpenSteps, group: Group, indices: frozenset[int]) -> BlockStep:
    sequential = [c for c in group.shared if _adds_along(plan, group, c)]
    cut = group.shared[-1]
    outer = [c for c in group.shared[:-1] if c not in sequential]
    ordered = [c for c in group.shared[:-1] if c in sequential]
    rest = {c for axes in group.classes.values() for c in axes} - set(group.shared)
    order = [*outer, *ordered, cut, *sorted(rest)]
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
        sequential=len(ordered),
        cut_is_sequential=cut in sequential,
        locals=locals_,
        triangle=triangle(
            members, axes, len(outer) + len(ordered), locals_, indices, plan.kernels
        ),
    )


def _adds_along(plan: OpenSteps, group: Group, cls: int) -> bool:
    """Whether a product of the group has the class in its depth."""
    for member in group.members:
        step, position = plan.member(member), group.position(member, cls)
        if isinstance(step, GemmStep) and position >= sum(step.groups[:3]):
            return True
    return False


def _extent(plan: OpenSteps, group: Group, cls: int) -> Register:
    return next(
        plan.member(member).extents[axes.index(cls)]
        for member, axes in group.classes.items()
        if cls in axes
    )


def _locals(plan: OpenSteps, group: Group) -> tuple[LocalValue, ...]:
    """The values that only members see, each in a slot that is free until its last use.

    Values in one slot have the same dtype and the same axes.
    """
    last_use: dict[int, int] = {}
    for member in group.members:
        for value in (*plan.inputs[member], *plan.made[member]):
            last_use[value] = member
    kinds: list[object] = []
    busy: dict[int, int] = {}
    found = []
    for member in group.members:
        busy = {slot: v for slot, v in busy.items() if last_use[v] >= member}
        for value in plan.made[member]:
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


def _is_local(plan: OpenSteps, group: Group, value: int) -> bool:
    readers = plan.readers(value)
    return (
        value not in plan.outputs
        and bool(readers)
        and all(reader in group.members for reader in readers)
    )

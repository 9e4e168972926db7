"""Lanes of a recurrence: examples of a batch that are computed independently.

If no step of a recurrence's plan mixes lanes, blocks of lanes run through all elements
independently, on separate threads (runtime/plan/recurrence.h). ``find_lanes`` examines
a finished plan, so that it knows no op; recurrences.py calls it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pellucid_compiler.abi.plan import (
    NO_REGISTER,
    DimMap,
    FillStep,
    GemmStep,
    Instruction,
    NestStep,
    Operand,
    Plan,
    Register,
    Step,
    ViewStep,
)
from pellucid_compiler.lower.plan import (
    step_outputs,
)

NO_LANES = -1


def find_lanes(
    body: Plan, num_carries: int, bound: Iterable[Register]
) -> tuple[int, ...]:
    """Per input and then per output of ``body``, the dim of its lanes, or
    ``NO_LANES`` for an input that all lanes read; empty without lanes.

    ``bound``: the registers set by the enclosing plan.
    """
    for dim in range(len(body.values[0].sizes)):
        lanes = _Lanes(body, dim)
        if lanes.agree(num_carries, set(bound)):
            found = (*range(body.num_inputs), *body.outputs)
            return tuple(lanes.dims.get(value, NO_LANES) for value in found)
    return ()


class _Lanes:
    """The lane dims of all values, assuming that those of the first carry are along
    ``dim``.
    """

    def __init__(self, body: Plan, dim: int) -> None:
        self.body = body
        self.dims = {0: dim}
        self.fits = True
        known = 0
        while self.fits and known < len(self.dims):
            known = len(self.dims)
            for step in body.steps:
                self._follow(step)

    def agree(self, num_carries: int, bound: set[Register]) -> bool:
        """Whether carries keep their lane dims, every result has lanes, and only the
        extents of the lanes depend on their number.
        """
        body, dims = self.body, self.dims
        ends = zip(range(num_carries), body.outputs, strict=False)
        return (
            self.fits
            and all(k in dims and dims[k] == dims.get(end) for k, end in ends)
            and all(value in dims for value in body.outputs)
            and self._count_is_free(bound)
        )

    def _follow(self, step: Step) -> None:
        if isinstance(step, FillStep):
            return
        operands = _operands(step)
        if operands is None:
            self.fits = False
            return
        axes = {axis for o in operands for axis in self._lane_axes(o)}
        if len(axes) > 1:
            self.fits = False
        for axis in axes:
            for number, operand in enumerate(operands):
                self._place(operand, axis, number < _num_outputs(step))

    def _lane_axes(self, operand: Operand) -> list[int]:
        """The axis along the lanes of an operand that has them."""
        if operand.value not in self.dims:
            return []
        axis = _plain_axis(operand.dims[self.dims[operand.value]])
        if axis is None:
            self.fits = False
            return []
        return [axis]

    def _place(self, operand: Operand, axis: int, is_output: bool) -> None:
        """The lanes of a step follow ``axis``: require that in ``operand`` they do too,
        along one dim, unless all lanes read the same.
        """
        along = [
            number
            for number, dim in enumerate(operand.dims)
            if any(axis == a for a, _ in dim.terms)
        ]
        if not along:
            self.fits &= not is_output and operand.value not in self.dims
            return
        is_plain = len(along) == 1 and _plain_axis(operand.dims[along[0]]) == axis
        dim = self.dims.setdefault(operand.value, along[0])
        self.fits &= is_plain and dim == along[0]

    def _count_is_free(self, bound: set[Register]) -> bool:
        """Whether the number of lanes is read from inputs, and used only as the extent
        of their axes.
        """
        counts = {
            register
            for register, i in enumerate(self.body.program)
            if i.op.name == "size" and self.dims.get(i.a) == i.b
        }
        if any(_registers(i) & counts for i in self.body.program):
            return False
        if not all(self._extents_fit(step, counts) for step in self.body.steps):
            return False
        made = {value for step in self.body.steps for value in step_outputs(step)}
        return not counts & bound and all(
            (size in counts) == (self.dims.get(value) == dim)
            for value in made
            for dim, size in enumerate(self.body.values[value].sizes)
        )

    def _extents_fit(self, step: Step, counts: set[Register]) -> bool:
        if not isinstance(step, (NestStep, GemmStep)):
            return True
        axes = {a for o in _operands(step) or () for a in self._lane_axes(o)}
        params = step.kernel.params
        return counts.isdisjoint(params) and all(
            (extent in counts) == (axis in axes)
            for axis, extent in enumerate(step.extents)
        )


def _operands(step: Step) -> tuple[Operand, ...] | None:
    """The operands that the step writes, then those it reads, over its axes; None for a
    step that may mix any elements.
    """
    if isinstance(step, NestStep):
        return None if step.sums else (*step.outputs, *step.inputs)
    if isinstance(step, GemmStep):
        return (step.output, *step.inputs)
    if isinstance(step, ViewStep):
        rank = 1 + max((a for d in step.source.dims for a, _ in d.terms), default=-1)
        plain = (DimMap(NO_REGISTER, ((axis, NO_REGISTER),)) for axis in range(rank))
        return (Operand(step.output, tuple(plain)), step.source)
    return None


def _registers(instruction: Instruction) -> set[Register]:
    """The registers that the instruction reads."""
    operands = (instruction.a, instruction.b, instruction.c)
    return set(operands[: instruction.op.registers])


def _num_outputs(step: Step) -> int:
    return len(step.outputs) if isinstance(step, NestStep) else 1


def _plain_axis(dim: DimMap) -> int | None:
    """The axis that the dim follows, if it is exactly one."""
    if dim.offset != NO_REGISTER or len(dim.terms) != 1:
        return None
    axis, coefficient = dim.terms[0]
    return axis if coefficient == NO_REGISTER else None

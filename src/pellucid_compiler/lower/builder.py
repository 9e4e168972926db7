"""The plan under construction: values, registers, steps and kernels.

Every module of ``lower`` that emits steps works on one ``PlanBuilder``. Read next:
graph.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pellucid_compiler.abi.plan import (
    ComputeStep,
    CopyStep,
    KernelUse,
    Message,
    NestStep,
    NonzeroStep,
    Plan,
    PlanValue,
    RecurrenceStep,
    Register,
    ReshapeStep,
    Step,
    ViewStep,
)
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Value
from pellucid_compiler.lower.blocks import block_steps
from pellucid_compiler.lower.carriers import carried
from pellucid_compiler.lower.horizontal_fusion import fuse_maps
from pellucid_compiler.lower.plan import (
    last_uses,
    step_inputs,
    step_outputs,
)
from pellucid_compiler.lower.registers import RegisterBuilder, Source
from pellucid_compiler.lower.tile import tile_program


class PlanBuilder:
    """``sources`` binds the Graph's symbols to the call's sizes and numbers.

    ``is_open``: this is the step of a recurrence, which takes missing symbols from the
    enclosing plan. ``images``: its values may be channels-last.
    """

    def __init__(
        self,
        name: str,
        sources: Mapping[str, Source],
        is_open: bool = False,
        images: bool = False,
    ) -> None:
        self.name = name
        self.is_step = is_open
        self.images = images
        self.registers = RegisterBuilder(sources, is_open)
        self.values: list[PlanValue] = []
        self.steps: list[Step] = []
        self.kernels: dict[bytes, Kernel] = {}
        self.facts: list[Expr] = []  # conditions that the plan has required
        self.num_inputs = 0
        self._numbers: dict[Value, int] = {}
        self._makers: dict[int, Step] = {}
        self._viewed: set[int] = set()
        self._num_noted = 0
        self._part_ends: list[int] = []

    def input(self, value: Value) -> None:
        """The next input of the plan; its sizes are not needed."""
        self._numbers[value] = len(self.values)
        self.values.append(PlanValue(value.dtype, (0,) * value.rank))
        self.num_inputs += 1

    def number(self, value: Value) -> int:
        """The number of a value that the plan already computes or takes."""
        return self._numbers[value]

    def has(self, value: Value) -> bool:
        """Whether an earlier step computes ``value``."""
        return value in self._numbers

    def define(self, value: Value) -> int:
        """A number for a value that the next steps compute."""
        self._numbers[value] = self.temporary(value.dtype, value.shape)
        return self._numbers[value]

    def update(self, value: Value, old: Value, reuses: bool) -> int:
        """A number for ``value``, which the next steps compute from ``old`` by writing
        parts of it: in its memory if that is free.
        """
        if reuses:
            self.alias(value, self.number(old))
            return self.number(old)
        source = self.number(old)
        output = self.define(value)
        self.steps.append(CopyStep(output, source))
        return output

    def is_own(self, value: Value) -> bool:
        """Whether ``value`` has memory of its own, which no other value shares."""
        number = self.number(value)
        self._note_steps()
        maker = self._makers.get(number)
        shares = isinstance(maker, (ViewStep, ReshapeStep, RecurrenceStep))
        return maker is not None and not shares and number not in self._viewed

    def _note_steps(self) -> None:
        """Note the producers and views of values of the steps added since the last
        call.
        """
        for step in self.steps[self._num_noted :]:
            for number in step_outputs(step):
                self._makers.setdefault(number, step)
            if isinstance(step, (ViewStep, ReshapeStep)):
                self._viewed.update(step_inputs(step))
        self._num_noted = len(self.steps)

    def alias(self, value: Value, number: int) -> None:
        """Make ``value`` a second name of another value of the plan."""
        self._numbers[value] = number

    def temporary(self, dtype: str, shape: Iterable[Expr]) -> int:
        self.values.append(PlanValue(dtype, self.sizes(shape)))
        return len(self.values) - 1

    def sizes(self, shape: Iterable[Expr]) -> tuple[Register, ...]:
        return tuple(self.registers.of(size) for size in shape)

    def use(
        self,
        kernel: Kernel,
        params: tuple[Register, ...],
        messages: tuple[Message, ...] = (),
    ) -> KernelUse:
        """A use of ``kernel`` in this plan; the freezer collects the kernels."""
        kernel = carried(kernel)
        self.kernels[kernel.kernel_id] = kernel
        self.kernels.update(tile_program(kernel).kernels)
        return KernelUse(kernel.kernel_id, params, self.name, messages)

    def begin_part(self) -> None:
        """Start a part: registers from here on run after the last step."""
        self._part_ends.append(len(self.registers.program))
        self.steps.append(ComputeStep(-1))

    def finish(self, outputs: Sequence[Value]) -> Plan:
        ends = [*self._part_ends, len(self.registers.program)]
        later = iter(ends[1:])
        steps = [
            ComputeStep(next(later)) if isinstance(step, ComputeStep) else step
            for step in self.steps
        ]
        numbers = tuple(self.number(value) for value in outputs)
        steps = _live_steps(steps, numbers)
        if self.is_step:  # it runs many times: each launch counts
            steps = self._joined(steps)
        steps = block_steps(steps, self.values, self.kernels, numbers, self.use)
        return Plan(
            name=self.name,
            num_inputs=self.num_inputs,
            program=tuple(self.registers.program),
            start=ends[0],
            messages=tuple(self.registers.messages),
            values=tuple(self.values),
            steps=tuple(steps),
            outputs=numbers,
            releases=last_uses(steps, numbers, self.num_inputs),
        )

    def _joined(self, steps: Sequence[Step]) -> list[Step]:
        """The steps with neighbouring maps fused, and their kernels registered."""
        replaced = {s.kernel.id for s in steps if isinstance(s, NestStep)}
        found, made = fuse_maps(steps, self.kernels)
        used = {s.kernel.id for s in found if isinstance(s, NestStep)}
        for key in replaced - used:
            self.kernels.pop(key, None)
        for key in used & made.keys():
            self.kernels[key] = made[key]
            self.kernels.update(tile_program(made[key]).kernels)
        return found


def _live_steps(steps: Sequence[Step], outputs: Sequence[int]) -> list[Step]:
    """The steps whose results are read, or on which sizes may depend."""
    wanted, live = set(outputs), []
    for step in reversed(steps):
        always = isinstance(step, (ComputeStep, NonzeroStep))
        if always or not wanted.isdisjoint(step_outputs(step)):
            wanted.update(step_inputs(step))
            live.append(step)
    return live[::-1]

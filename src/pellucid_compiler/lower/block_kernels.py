"""A block step as one kernel over its classes of axes, which devices may launch whole.

Operands that members read along different classes are different operands of the kernel,
as keys are that one product reads along rows and another along columns. Called by
blocks.py for every block; the CPU does not use the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from pellucid_compiler.abi.limits import MAX_NEST_OPERANDS, MAX_STEP_PARAMS
from pellucid_compiler.abi.plan import (
    NO_REGISTER,
    BlockStep,
    DimMap,
    GemmStep,
    KernelUse,
    NestStep,
    Operand,
    Register,
)
from pellucid_compiler.codegen.kernel import Block, Kernel, Member
from pellucid_compiler.lower.block_groups import is_plain

Use: TypeAlias = Callable[[Kernel, tuple[Register, ...]], KernelUse]


class _Value(NamedTuple):
    """A value as members access it: its number in the plan, the class of each dim, and
    the dtype in which kernels have it."""

    number: int
    classes: tuple[int, ...]
    dtype: str


def whole_kernel(
    step: BlockStep, kernels: Mapping[bytes, Kernel], use: Use
) -> BlockStep:
    """``step`` with its kernel, if every access follows classes."""
    accesses = [
        list(_accesses(member, axes, kernels[member.kernel.id]))
        for member, axes in zip(step.steps, step.axes, strict=True)
    ]
    if not all(
        is_plain(d) for member in step.steps for o in _all(member) for d in o.dims
    ):
        return step
    made = {
        access.number: access
        for member, own in zip(step.steps, accesses, strict=True)
        for access in own[: len(_outputs(member))]
    }
    local = {item.value for item in step.locals}
    outputs = [value for number, value in made.items() if number not in local]
    read = dict.fromkeys(a for own in accesses for a in own if a.number not in made)
    inside = [value for number, value in made.items() if number in local]
    values = [*outputs, *read, *inside]
    numbers = {value: k for k, value in enumerate(values)}
    members: list[Member] = []
    params: list[Register] = []
    for member, own, axes in zip(step.steps, accesses, step.axes, strict=True):
        operands = tuple(numbers[made.get(a.number, a)] for a in own)
        kernel = kernels[member.kernel.id]
        members.append(Member(kernel, _stored(member), axes, operands, len(params)))
        params += member.kernel.params
    if len(outputs) + len(read) > MAX_NEST_OPERANDS or len(params) > MAX_STEP_PARAMS:
        return step
    form = Block(
        tuple(members),
        tuple(value.classes for value in values),
        step.parallel,
        step.sequential,
        step.cut_is_sequential,
        step.triangle,
    )
    kernel = Kernel(
        form,
        tuple(value.dtype for value in read),
        tuple(value.dtype for value in outputs),
        _param_dtypes(step, kernels),
    )
    return replace(
        step,
        kernel=use(kernel, tuple(params)),
        outputs=tuple(map(_operand, outputs)),
        inputs=tuple(map(_operand, read)),
    )


def _param_dtypes(step: BlockStep, kernels: Mapping[bytes, Kernel]) -> tuple[str, ...]:
    """Of the parameters that members take from registers; a product's are its
    driver's."""
    found: list[str] = []
    for member in step.steps:
        found += kernels[member.kernel.id].params[: len(member.kernel.params)]
    return tuple(found)


def _outputs(member: NestStep | GemmStep) -> tuple[Operand, ...]:
    return (member.output,) if isinstance(member, GemmStep) else member.outputs


def _all(member: NestStep | GemmStep) -> tuple[Operand, ...]:
    return (*_outputs(member), *member.inputs)


def _stored(member: NestStep | GemmStep) -> int:
    if isinstance(member, GemmStep):
        return sum(member.groups[:3])
    return member.num_stored


def _accesses(
    member: NestStep | GemmStep, axes: Sequence[int], kernel: Kernel
) -> Iterator[_Value]:
    dtypes = (*kernel.outputs, *kernel.inputs)
    for operand, dtype in zip(_all(member), dtypes, strict=False):
        along = (axes[dim.terms[0][0]] if dim.terms else -1 for dim in operand.dims)
        yield _Value(operand.value, tuple(along), dtype)


def _operand(value: _Value) -> Operand:
    """The value along the classes."""
    terms = (((cls, NO_REGISTER),) if cls >= 0 else () for cls in value.classes)
    return Operand(value.number, tuple(DimMap(NO_REGISTER, t) for t in terms))

"""Neighbouring maps over one space as one kernel of several outputs.

Common loads and subexpressions of two maps are then computed once: the gates and the
states of a recurrence's step, the parts of a buffer. Called by builder.py when the step
of a recurrence is finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pellucid_compiler.abi.limits import MAX_MAP_OPERANDS, MAX_STEP_PARAMS
from pellucid_compiler.abi.plan import (
    KernelUse,
    NestStep,
    Operand,
    Register,
    Step,
)
from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.ir.expr import Expr, load, sym
from pellucid_compiler.ir.traversal import rewrite


def fuse_maps(
    steps: Sequence[Step], kernels: Mapping[bytes, Kernel]
) -> tuple[list[Step], dict[bytes, Kernel]]:
    """The steps with neighbours fused, and the resulting kernels."""
    fused: list[Step] = []
    made: dict[bytes, Kernel] = {}
    for step in steps:
        both = None
        if fused and isinstance(step, NestStep):
            both = _fused(fused[-1], step, {**kernels, **made})
        if both is None:
            fused.append(step)
        else:
            fused[-1], kernel = both
            made[kernel.kernel_id] = kernel
    return fused, made


def _fused(
    first: Step, second: NestStep, kernels: Mapping[bytes, Kernel]
) -> tuple[NestStep, Kernel] | None:
    if not isinstance(first, NestStep) or not _can_fuse(first, second):
        return None
    inputs = list(dict.fromkeys((*first.inputs, *second.inputs)))
    params = list(dict.fromkeys((*first.kernel.params, *second.kernel.params)))
    outputs = first.outputs + second.outputs
    too_many = len(inputs) + len(outputs) > MAX_MAP_OPERANDS
    if too_many or len(params) > MAX_STEP_PARAMS:
        return None
    values: list[Expr] = []
    input_dtypes: dict[Operand, str] = {}
    parameter_dtypes: dict[Register, str] = {}
    for step in (first, second):
        kernel = kernels[step.kernel.id]
        assert isinstance(kernel.form, Map)
        input_dtypes.update(zip(step.inputs, kernel.inputs, strict=True))
        parameter_dtypes.update(zip(step.kernel.params, kernel.params, strict=True))
        values += _renumbered(kernel.form, step, inputs, params)
    kernel = Kernel(
        Map(tuple(values)),
        tuple(input_dtypes[operand] for operand in inputs),
        kernels[first.kernel.id].outputs + kernels[second.kernel.id].outputs,
        tuple(parameter_dtypes[register] for register in params),
    )
    use = KernelUse(kernel.kernel_id, tuple(params), second.kernel.label)
    step = replace(first, kernel=use, outputs=outputs, inputs=tuple(inputs))
    return step, kernel


def _can_fuse(first: NestStep, second: NestStep) -> bool:
    """Whether both are maps over one space that read or write a common value, and
    neither reads what the other writes. A map with checks of elements is not fused.
    """
    if first.form != "map" or second.form != "map":
        return False
    if first.kernel.messages or second.kernel.messages:
        return False
    if first.extents != second.extents or first.num_stored != second.num_stored:
        return False
    if _values(first.outputs + second.outputs) & _values(first.inputs + second.inputs):
        return False
    return bool(_values(first.outputs) & _values(second.outputs)) or bool(
        _values(first.inputs) & _values(second.inputs)
    )


def _values(operands: Sequence[Operand]) -> set[int]:
    return {operand.value for operand in operands}


def _renumbered(
    form: Map, step: NestStep, inputs: Sequence[Operand], params: Sequence[Register]
) -> list[Expr]:
    place = [inputs.index(operand) for operand in step.inputs]
    slot = {
        f"p{k}": f"p{params.index(register)}"
        for k, register in enumerate(step.kernel.params)
    }

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if e.op == "load":
            return load(place[e.attr], (), e.dtype)
        return sym(slot[e.attr], e.dtype) if e.op == "sym" else None

    memo: dict[Expr, Expr] = {}
    return [rewrite(value, leaf, memo) for value in form.values]

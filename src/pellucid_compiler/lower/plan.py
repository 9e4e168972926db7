"""The inputs, outputs and releases of a plan's steps, and the plan's text.

``abi/plan.py`` has the records of a plan; ``lower`` makes plans from Graphs,
``show_plan`` prints them for ``explain``. Read next: lower/graph.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.abi.plan import (
    NO_REGISTER,
    BlockStep,
    ComputeStep,
    CopyStep,
    DimMap,
    FillStep,
    GemmStep,
    GeneralStep,
    Instruction,
    KernelUse,
    LibraryStep,
    Message,
    NestStep,
    NonzeroStep,
    Operand,
    Plan,
    RecurrenceStep,
    Register,
    ReshapeStep,
    ScanStep,
    Step,
    ViewStep,
    kind_of,
)


def step_outputs(step: Step) -> tuple[int, ...]:
    """The values that a step computes or writes."""
    if isinstance(step, (NestStep, ScanStep)):
        return tuple(operand.value for operand in step.outputs)
    if isinstance(step, GemmStep):
        return (step.output.value,)
    if isinstance(step, BlockStep):
        local = {item.value for item in step.locals}
        made = dict.fromkeys(v for inner in step.steps for v in step_outputs(inner))
        return tuple(value for value in made if value not in local)
    if isinstance(step, (GeneralStep, LibraryStep, RecurrenceStep)):
        return step.outputs
    return () if isinstance(step, ComputeStep) else (step.output,)


def step_inputs(step: Step) -> tuple[int, ...]:
    """The values that a step reads."""
    if isinstance(step, (NestStep, ScanStep, GemmStep)):
        return tuple(operand.value for operand in step.inputs)
    if isinstance(step, (GeneralStep, LibraryStep)):
        return step.inputs
    if isinstance(step, BlockStep):
        made = {value for inner in step.steps for value in step_outputs(inner)}
        read = dict.fromkeys(v for inner in step.steps for v in step_inputs(inner))
        return tuple(value for value in read if value not in made)
    if isinstance(step, RecurrenceStep):
        return (*step.carries, *step.sequences, *step.edges, *step.constants)
    if isinstance(step, ViewStep):
        return (step.source.value,)
    if isinstance(step, (ReshapeStep, CopyStep, NonzeroStep)):
        return (step.source,)
    return ()


def last_uses(
    steps: Sequence[Step], outputs: Sequence[int], num_inputs: int
) -> tuple[tuple[int, ...], ...]:
    """Per step, the values of the plan that nothing reads afterwards."""
    seen = {*outputs, *range(num_inputs)}
    releases: list[tuple[int, ...]] = []
    for step in reversed(steps):
        touched = dict.fromkeys((*step_inputs(step), *step_outputs(step)))
        releases.append(tuple(v for v in touched if v not in seen))
        seen.update(touched)
    return tuple(reversed(releases))


# ---------------------------------------------------------------- printing

_AXES = "ijklmnopqrstuvw"


def show_plan(plan: Plan) -> str:
    """The plan as text: registers ``r0``, values ``v0``."""
    inputs = ", ".join(
        f"v{k}: {plan.values[k].dtype}[{len(plan.values[k].sizes)}d]"
        for k in range(plan.num_inputs)
    )
    lines = [f"plan {plan.name}({inputs}):"]
    for number, instruction in enumerate(plan.program):
        lines.append(f"  {_show_instruction(number, instruction, plan.messages)}")
    for step, released in zip(plan.steps, plan.releases, strict=True):
        tail = f"   # then free {_values(released)}" if released else ""
        lines.append(f"  {_show_step(step, plan)}{tail}")
    lines.append(f"  return {_values(plan.outputs)}")
    return "\n".join(lines)


def _values(numbers: Sequence[int]) -> str:
    return ", ".join(f"v{k}" for k in numbers)


def _show_instruction(
    number: int, instruction: Instruction, messages: Sequence[Message]
) -> str:
    i, name = instruction, instruction.op.name
    if name == "guard":
        return f"guard r{i.a} is {i.value}"
    if name == "require":
        message = messages[i.b]
        text = "".join(p if isinstance(p, str) else f"{{r{p}}}" for p in message.parts)
        where = " unless on Meta" if i.value else ""
        return f"require r{i.a}, {message.error}({text!r}){where}"
    if name == "const":
        return f"r{number} = {i.value}"
    if name == "size":
        return f"r{number} = size(v{i.a}, {i.b})"
    if name in ("integer", "number", "imaginary"):
        element = "" if i.b == NO_REGISTER else f"[{i.b}]"
        return f"r{number} = {name}(argument {i.a}{element})"
    operands = ", ".join(f"r{r}" for r in (i.a, i.b, i.c) if r != NO_REGISTER)
    return f"r{number} = {name}({operands})"


def _show_dim(dim: DimMap) -> str:
    terms = [f"r{dim.offset}"] if dim.offset != NO_REGISTER else []
    for axis, coefficient in dim.terms:
        factor = "" if coefficient == NO_REGISTER else f"r{coefficient}*"
        terms.append(f"{factor}{_AXES[axis]}")
    return "+".join(terms) or "0"


def _show_operand(operand: Operand) -> str:
    return f"v{operand.value}[{','.join(_show_dim(dim) for dim in operand.dims)}]"


def _show_space(extents: Sequence[Register], groups: Sequence[int] = ()) -> str:
    """``i<r0,j<r1``; groups of axes are separated by semicolons."""
    axes = [f"{_AXES[k]}<r{r}" for k, r in enumerate(extents)]
    parts, start = [], 0
    for size in groups or (len(axes),):
        parts.append(",".join(axes[start : start + size]))
        start += size
    return "; ".join(parts)


def _show_kernel(kernel: KernelUse) -> str:
    params = "".join(f", r{r}" for r in kernel.params)
    return f"{kernel.label} #{kernel.id.hex()[:8]}{params}"


def _show_block(step: BlockStep, plan: Plan) -> str:
    """The inner steps, each after the classes of its axes."""
    cut = step.parallel + step.sequential
    classes = []
    for number, register in enumerate(step.extents):
        how = "" if number > cut else " cut" if number == cut else " each"
        ordered = number < cut or step.cut_is_sequential
        is_sequential = number >= step.parallel and ordered
        how += " in order" if how and is_sequential else ""
        how += " up to the last row" if number == step.triangle else ""
        classes.append(f"c{number}<r{register}{how}")
    lines = [f"block({', '.join(classes)})"]
    for inner, axes in zip(step.steps, step.axes, strict=True):
        where = ",".join(f"c{number}" for number in axes)
        lines.append(f"      [{where}] {_show_step(inner, plan)}")
    slots = ", ".join(f"v{item.value} in slot {item.slot}" for item in step.locals)
    return "\n".join([*lines, f"      local {slots}"])


def _show_step(step: Step, plan: Plan) -> str:
    if isinstance(step, BlockStep):
        return _show_block(step, plan)
    made = ", ".join(
        f"v{k}: {plan.values[k].dtype}"
        f"[{','.join(f'r{r}' for r in plan.values[k].sizes)}]"
        for k in step_outputs(step)
    )
    if isinstance(step, (NestStep, GemmStep, ScanStep)):
        form = kind_of(step)
        outputs = (step.output,) if isinstance(step, GemmStep) else step.outputs
        stores = ", ".join(map(_show_operand, outputs))
        padded = step.padded if isinstance(step, GemmStep) else ()
        reads = ", ".join(
            _show_operand(operand) + (" or 0" if k in padded else "")
            for k, operand in enumerate(step.inputs)
        )
        kernel = _show_kernel(step.kernel)
        groups = step.groups if isinstance(step, GemmStep) else ()
        space = _show_space(step.extents, groups)
        return f"{made} = {form}({space}) {stores} = {kernel} ({reads})"
    if isinstance(step, GeneralStep):
        start = "" if step.identity is None else f" from {step.identity}"
        space = _show_space(step.extents)
        reads = _values(step.inputs)
        return f"{made} = nest({space}){start} {_show_kernel(step.kernel)} ({reads})"
    return f"{made} = {_show_simple_step(step)}" if made else _show_simple_step(step)


def _show_shifts(step: RecurrenceStep) -> str:
    """The shifted sequences, and what replaces the element that each lacks."""
    moved = zip(step.sequences, step.shifts, strict=True)
    shown = [f"v{value} by {shift}" for value, shift in moved if shift]
    pairs = zip(shown, step.edges, strict=True)
    return ", ".join(f"{stack} after v{edge}" for stack, edge in pairs)


def _show_lanes(step: RecurrenceStep) -> str:
    """The dims of the lanes: of the body's inputs, then of its outputs."""
    count = len(step.lanes) - len(step.outputs)
    shown = ["-" if dim < 0 else str(dim) for dim in step.lanes]
    return f"{' '.join(shown[:count])} -> {' '.join(shown[count:])}"


def _show_simple_step(step: Step) -> str:
    if isinstance(step, RecurrenceStep):
        body = show_plan(step.body).replace("\n", "\n      ")
        back = " backwards" if step.reverse else ""
        groups = (step.carries, step.sequences, step.constants)
        given = "; ".join(map(_values, groups))
        head = f"recurrence(r{step.length} steps{back}) of ({given})"
        last = [
            v for v, flag in zip(step.outputs, step.stacked, strict=True) if not flag
        ]
        head += f", of {_values(last)} the last" if last else ""
        head += f", shifted {_show_shifts(step)}" if step.edges else ""
        head += f", lanes {_show_lanes(step)}" if step.lanes else ""
        return f"{head}\n      {body}"
    if isinstance(step, FillStep):
        return f"fill({step.value})"
    if isinstance(step, ViewStep):
        return f"view({_show_operand(step.source)})"
    if isinstance(step, (ReshapeStep, CopyStep)):
        verb = "reshape" if isinstance(step, ReshapeStep) else "copy"
        return f"{verb}(v{step.source})"
    if isinstance(step, NonzeroStep):
        return f"nonzero(v{step.source}) counts r{step.count}"
    if isinstance(step, ComputeStep):
        return f"compute registers up to r{step.end}"
    assert isinstance(step, LibraryStep)
    options = "".join(f", {name}={value}" for name, value in step.options)
    options += "".join(f", {name}=r{register}" for name, register in step.numbers)
    return f"{step.name}({_values(step.inputs)}{options})"

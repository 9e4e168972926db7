"""Plan: what the runtime executes for one specialisation key of an op.

A plan is a register program over sizes and numbers (extents, output sizes, offsets,
guards, requirements), then straight-line steps over tensor values. Values are numbered:
the inputs first, then what the steps make. Registers are numbered by the instruction
that sets them. ``lower`` makes plans from Graphs, ``encode_plan`` writes them,
runtime/plan/plan.h reads them, ``show_plan`` prints them for ``explain``. Read next:
lower/graph.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pellucid_compiler.abi.encode import Encodable, encode

Register: TypeAlias = int
NO_REGISTER = -1


@dataclass(frozen=True)
class Instruction:
    """One register: ``op`` over earlier registers, or a leaf with a literal ``value``.

    Leaves: ``const`` (value), ``size`` (a = input, b = dim), ``number`` and
    ``imaginary`` (a = argument, b = element of a list argument or -1), of which the
    latter takes the imaginary part. ``guard`` (a = condition, value = expected) and
    ``require`` (a = condition, b = message number) check a register and set none.
    """

    op: str
    a: int = NO_REGISTER
    b: int = NO_REGISTER
    c: int = NO_REGISTER
    value: bool | int | float | None = None


@dataclass(frozen=True)
class Message:
    """Why a requirement failed: the exception's name; text and registers to join."""

    error: str
    parts: tuple[str | Register, ...]


@dataclass(frozen=True)
class PlanValue:
    dtype: str
    sizes: tuple[Register, ...]


@dataclass(frozen=True)
class DimMap:
    """Index along one dim of a value: ``offset + sum(coefficient * axis)``.

    ``NO_REGISTER`` stands for offset 0 and for coefficient 1.
    """

    offset: Register
    terms: tuple[tuple[int, Register], ...]


@dataclass(frozen=True)
class Operand:
    """A value as a nest sees it: where each point of the iteration space lies in it."""

    value: int
    dims: tuple[DimMap, ...]


@dataclass(frozen=True)
class KernelUse:
    """A kernel by id and the registers of its 64-bit params."""

    id: bytes
    params: tuple[Register, ...]
    label: str


@dataclass(frozen=True)
class NestStep:
    """Forms ``map``, ``reduce`` and ``rows`` over affine operands.

    The first ``kept`` axes are stored ones. The others are reduced (``reduce``), are
    the columns of a row (``rows``), or are walked one after the other (``map``), since
    the stores of their points meet. Of a ``reduce``, ``combine`` is the kernel that
    combines partial results held in the ``accumulator`` dtype; ``indexed``: it is an
    argmax or argmin, whose outputs are (value, index). ``sums``: the outputs of a
    ``rows`` to which every row adds; their first dim is over groups of rows.
    """

    form: str
    kernel: KernelUse
    extents: tuple[Register, ...]
    kept: int
    outputs: tuple[Operand, ...]
    inputs: tuple[Operand, ...]
    combine: KernelUse | None = None
    accumulator: str = ""
    indexed: bool = False
    sums: tuple[int, ...] = ()


@dataclass(frozen=True)
class GeneralStep:
    """Form ``nest``: a kernel that is handed whole values, their sizes and strides.

    ``parallel``: points that differ in the first axis write different elements.
    ``identity``: what the outputs hold before (None: the kernel writes every element).
    ``turned``: the kernel serves outputs whose second dim lies innermost. ``begins``:
    its machine code needs no identity there; where it has none they are filled.
    """

    kernel: KernelUse
    extents: tuple[Register, ...]
    outputs: tuple[int, ...]
    inputs: tuple[int, ...]
    parallel: bool
    identity: bool | int | float | None
    turned: bool
    begins: bool


@dataclass(frozen=True)
class GemmStep:
    """Form ``gemm``: C = A B (+ bias) for each point of the batch axes.

    ``groups``: how many axes are batch, rows, columns and depth, in this order.
    ``padded``: the inputs, by number, beyond which there are zeros.
    """

    kernel: KernelUse
    extents: tuple[Register, ...]
    groups: tuple[int, ...]
    output: Operand
    inputs: tuple[Operand, ...]
    padded: tuple[int, ...]


@dataclass(frozen=True)
class ScanStep:
    """Form ``scan``: the last axis is scanned, the others are independent."""

    kernel: KernelUse
    extents: tuple[Register, ...]
    outputs: tuple[Operand, ...]
    inputs: tuple[Operand, ...]


@dataclass(frozen=True)
class LocalValue:
    """A value of which only one block exists, in memory that others of ``slot`` use."""

    value: int
    slot: int


@dataclass(frozen=True)
class BlockStep:
    """``steps`` run together on one block of the axes that they share, then the next.

    ``axes``: per step the class of each of its axes; ``extents``: of the classes. The
    first ``parallel`` classes are walked in any order, the next ``in_turn`` in order.
    Then comes the class that is cut into pieces (``cut_in_turn``: in order). A product
    whose depth is walked adds to its result. ``triangle``: the class of columns of
    which a piece needs no more than its own last row's number; -1 if there is none.
    """

    steps: tuple[NestStep | GemmStep, ...]
    axes: tuple[tuple[int, ...], ...]
    extents: tuple[Register, ...]
    parallel: int
    in_turn: int
    cut_in_turn: bool
    locals: tuple[LocalValue, ...]
    triangle: int


@dataclass(frozen=True)
class RecurrenceStep:
    """``carries, extras = body(carries, sequences[t], constants)`` for every t; the
    outputs stack them. ``orders``: per constant, its dims from the outermost in memory
    to the innermost as the body reads it best; empty if that does not matter.

    ``bound``: pairs of a register of the body and the register here that it takes.
    ``stacked``: per output; of the others, which are carries, only the last is given.
    ``lanes``: per input and then per output of the body the dim along which its lanes
    lie (lower/lanes.py); empty if there are none.
    ``shifts``: per sequence 0, or -1 or 1: the body reads the element so far from t,
    and the next one of ``edges`` where there is none.
    """

    body: Plan
    bound: tuple[tuple[Register, Register], ...]
    length: Register
    reverse: bool
    carries: tuple[int, ...]
    sequences: tuple[int, ...]
    shifts: tuple[int, ...]
    edges: tuple[int, ...]
    constants: tuple[int, ...]
    orders: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...]
    stacked: tuple[bool, ...]
    lanes: tuple[int, ...]


@dataclass(frozen=True)
class FillStep:
    output: int
    value: bool | int | float


@dataclass(frozen=True)
class ViewStep:
    """The output shares the source's memory: its dims are axes of ``source.dims``."""

    output: int
    source: Operand


@dataclass(frozen=True)
class ReshapeStep:
    """Row-major reshape: a view where strides allow it, otherwise a copy."""

    output: int
    source: int


@dataclass(frozen=True)
class CopyStep:
    """The output starts as a copy of ``source``, or at its last use is its memory."""

    output: int
    source: int


@dataclass(frozen=True)
class LibraryStep:
    name: str
    outputs: tuple[int, ...]
    inputs: tuple[int, ...]
    options: tuple[tuple[str, bool | int | float | str | None], ...]
    numbers: tuple[tuple[str, Register], ...]


@dataclass(frozen=True)
class NonzeroStep:
    """Indices of the true elements; ``count`` is the register of their number."""

    output: int
    source: int
    count: Register


@dataclass(frozen=True)
class ComputeStep:
    """Runs the register program up to ``end``: sizes known from earlier steps."""

    end: int


Step: TypeAlias = (
    "NestStep | GeneralStep | GemmStep | ScanStep | BlockStep | RecurrenceStep"
    " | FillStep | ViewStep | ReshapeStep | CopyStep | LibraryStep | NonzeroStep"
    " | ComputeStep"
)


@dataclass(frozen=True)
class Plan:
    """``start``: the instructions that run before the first step."""

    name: str
    num_inputs: int
    program: tuple[Instruction, ...]
    start: int
    messages: tuple[Message, ...]
    values: tuple[PlanValue, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    releases: tuple[tuple[int, ...], ...] = field(default=())
    index_error: str = "IndexError"


def step_outputs(step: Step) -> tuple[int, ...]:
    """The values that a step makes or writes."""
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
    """Per step, the values made by the plan that nothing reads afterwards."""
    seen = {*outputs, *range(num_inputs)}
    releases: list[tuple[int, ...]] = []
    for step in reversed(steps):
        touched = dict.fromkeys((*step_inputs(step), *step_outputs(step)))
        releases.append(tuple(v for v in touched if v not in seen))
        seen.update(touched)
    return tuple(reversed(releases))


# ---------------------------------------------------------------- encoding


def encode_plan(plan: Plan) -> bytes:
    """The bytes that runtime/plan/plan.cpp decodes, in the order it reads them."""
    return encode(
        [
            plan.name,
            plan.num_inputs,
            encode_instructions(plan.program),
            plan.start,
            encode_messages(plan.messages),
            [[v.dtype, list(v.sizes)] for v in plan.values],
            [_encode_step(step) for step in plan.steps],
            list(plan.outputs),
            [list(values) for values in plan.releases],
            plan.index_error,
        ]
    )


def encode_instructions(program: Sequence[Instruction]) -> Encodable:
    return [[i.op, i.a, i.b, i.c, i.value] for i in program]


def encode_messages(messages: Sequence[Message]) -> Encodable:
    return [[m.error, list(m.parts)] for m in messages]


def _encode_operand(operand: Operand) -> Encodable:
    dims: list[Encodable] = [
        [dim.offset, [number for term in dim.terms for number in term]]
        for dim in operand.dims
    ]
    return [operand.value, dims]


def _encode_operands(operands: Sequence[Operand]) -> Encodable:
    return [_encode_operand(operand) for operand in operands]


def _encode_kernel(kernel: KernelUse) -> Encodable:
    return [kernel.id, list(kernel.params), kernel.label]


def _encode_step(step: Step) -> Encodable:
    if isinstance(step, NestStep):
        return [
            step.form,
            _encode_kernel(step.kernel),
            list(step.extents),
            step.kept,
            _encode_operands(step.outputs),
            _encode_operands(step.inputs),
            None if step.combine is None else _encode_kernel(step.combine),
            step.accumulator,
            step.indexed,
            list(step.sums),
        ]
    if isinstance(step, GeneralStep):
        return [
            "nest",
            _encode_kernel(step.kernel),
            list(step.extents),
            list(step.outputs),
            list(step.inputs),
            step.parallel,
            step.identity,
            step.turned,
            step.begins,
        ]
    if isinstance(step, (GemmStep, ScanStep)):
        form = "gemm" if isinstance(step, GemmStep) else "scan"
        outputs = (step.output,) if isinstance(step, GemmStep) else step.outputs
        end: list[Encodable] = [None]
        if isinstance(step, GemmStep):
            end = [list(step.groups), list(step.padded)]
        return [
            form,
            _encode_kernel(step.kernel),
            list(step.extents),
            _encode_operands(outputs),
            _encode_operands(step.inputs),
            *end,
        ]
    return _encode_simple_step(step)


def _encode_simple_step(step: Step) -> Encodable:
    if isinstance(step, BlockStep):
        return [
            "block",
            [_encode_step(inner) for inner in step.steps],
            [list(axes) for axes in step.axes],
            list(step.extents),
            step.parallel,
            step.in_turn,
            step.cut_in_turn,
            [number for item in step.locals for number in (item.value, item.slot)],
            step.triangle,
        ]
    if isinstance(step, RecurrenceStep):
        return [
            "recurrence",
            encode_plan(step.body),
            [register for pair in step.bound for register in pair],
            step.length,
            step.reverse,
            list(step.carries),
            list(step.sequences),
            list(step.shifts),
            list(step.edges),
            list(step.constants),
            [list(order) for order in step.orders],
            list(step.outputs),
            [int(flag) for flag in step.stacked],
            list(step.lanes),
        ]
    if isinstance(step, FillStep):
        return ["fill", step.output, step.value]
    if isinstance(step, ViewStep):
        return ["view", step.output, _encode_operand(step.source)]
    if isinstance(step, ReshapeStep):
        return ["reshape", step.output, step.source]
    if isinstance(step, CopyStep):
        return ["copy", step.output, step.source]
    if isinstance(step, NonzeroStep):
        return ["nonzero", step.output, step.source, step.count]
    if isinstance(step, ComputeStep):
        return ["compute", step.end]
    assert isinstance(step, LibraryStep)
    options: list[Encodable] = [[name, value] for name, value in step.options]
    return [
        "library",
        step.name,
        list(step.outputs),
        list(step.inputs),
        options,
        [[name, register] for name, register in step.numbers],
    ]


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
    i = instruction
    if i.op == "guard":
        return f"guard r{i.a} is {i.value}"
    if i.op == "require":
        message = messages[i.b]
        text = "".join(p if isinstance(p, str) else f"{{r{p}}}" for p in message.parts)
        return f"require r{i.a}, {message.error}({text!r})"
    if i.op == "const":
        return f"r{number} = {i.value}"
    if i.op == "size":
        return f"r{number} = size(v{i.a}, {i.b})"
    if i.op.startswith("number"):
        element = "" if i.b == NO_REGISTER else f"[{i.b}]"
        return f"r{number} = {i.op}(argument {i.a}{element})"
    operands = ", ".join(f"r{r}" for r in (i.a, i.b, i.c) if r != NO_REGISTER)
    return f"r{number} = {i.op}({operands})"


def _show_dim(dim: DimMap) -> str:
    terms = [f"r{dim.offset}"] if dim.offset != NO_REGISTER else []
    for axis, coefficient in dim.terms:
        factor = "" if coefficient == NO_REGISTER else f"r{coefficient}*"
        terms.append(f"{factor}{_AXES[axis]}")
    return "+".join(terms) or "0"


def _show_operand(operand: Operand) -> str:
    return f"v{operand.value}[{','.join(_show_dim(dim) for dim in operand.dims)}]"


def _show_space(extents: Sequence[Register], groups: Sequence[int] = ()) -> str:
    """``i<r0,j<r1``; groups of axes are set apart by semicolons."""
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
    """The inner steps, each behind the classes of its axes."""
    cut = step.parallel + step.in_turn
    classes = []
    for number, register in enumerate(step.extents):
        how = "" if number > cut else " cut" if number == cut else " each"
        in_turn = number >= step.parallel and (number < cut or step.cut_in_turn)
        how += " in turn" if how and in_turn else ""
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
        form = getattr(step, "form", type(step).__name__.removesuffix("Step").lower())
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
    """The shifted sequences, and what stands for the element that each lacks."""
    moved = zip(step.sequences, step.shifts, strict=True)
    shown = [f"v{value} by {shift}" for value, shift in moved if shift]
    pairs = zip(shown, step.edges, strict=True)
    return ", ".join(f"{stack} after v{edge}" for stack, edge in pairs)


def _show_lanes(step: RecurrenceStep) -> str:
    """The dims of the lanes: of what the body takes, then of what it gives."""
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

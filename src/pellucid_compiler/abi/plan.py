"""The records of a plan: built, encoded and decoded.

``lower`` builds them, ``encode_plan`` writes them. runtime/plan/records.h has the same
structs with their readers, and docs/file-formats.md lists their fields: both are
generated from here. runtime/plan/plan.cpp converts them to the executable form. Values
are numbered, inputs first, then the results of the steps. Registers are numbered by the
instruction that sets them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Final, TypeAlias

from pellucid_compiler.abi.codes import ERROR, STEP
from pellucid_compiler.abi.encode import encode
from pellucid_compiler.abi.fields import (
    FLAT,
    KIND,
    LITERAL,
    NESTED,
    Alternatives,
    DTypeName,
    Field,
    Int8,
    KernelId,
    UInt8,
    UInt16,
    ValueNumber,
    code,
    encode_record,
)
from pellucid_compiler.abi.fields import Register as Register
from pellucid_compiler.abi.opcodes import Opcode

NO_REGISTER: Final[Register] = -1


InstructionOp = Annotated[
    Opcode, Field("Opcode", "in.code<Opcode>()", "opcode", attrgetter("code"))
]
ErrorName = Annotated[str, code(ERROR)]
Number: TypeAlias = Annotated[bool | int | float | complex, LITERAL]
Option: TypeAlias = Annotated[bool | int | float | str | None, LITERAL]
MessagePart: TypeAlias = Annotated[str | int, LITERAL]
Step: TypeAlias = (
    "NestStep | GeneralStep | GemmStep | ScanStep | BlockStep | RecurrenceStep"
    " | FillStep | ViewStep | ReshapeStep | CopyStep | LibraryStep | NonzeroStep"
    " | ComputeStep"
)


@dataclass(frozen=True)
class Instruction:
    """One register: ``op`` over earlier registers, or a leaf with a literal ``value``.

    Leaves: ``const`` (value), ``size`` (a = input, b = dim), ``number`` and
    ``imaginary`` (a = argument, b = element of a list argument or -1); ``imaginary``
    takes the imaginary part. ``guard`` (a = condition, value = expected) and
    ``require`` (a = condition, b = message number) check a register and set none.
    """

    op: InstructionOp
    a: Register = NO_REGISTER
    b: Register = NO_REGISTER
    c: Register = NO_REGISTER
    value: Number | None = None


@dataclass(frozen=True)
class Message:
    """Why a requirement failed: the exception's name; text and registers to
    concatenate.
    """

    error: ErrorName
    parts: tuple[MessagePart, ...]


@dataclass(frozen=True)
class PlanValue:
    """The dtype and sizes of a value."""

    dtype: DTypeName
    sizes: tuple[Register, ...]


@dataclass(frozen=True)
class DimMap:
    """The index along one dim of a value: ``offset + sum(coefficient * axis)``.

    ``NO_REGISTER`` means offset 0 or coefficient 1.
    """

    offset: Register
    terms: Annotated[tuple[tuple[UInt8, Register], ...], FLAT]


@dataclass(frozen=True)
class Operand:
    """A value as a nest sees it: its index at each point of the iteration space."""

    value: ValueNumber
    dims: tuple[DimMap, ...]


@dataclass(frozen=True)
class KernelUse:
    """A kernel by id and the registers of its 64-bit params. ``messages``: for its
    checks of elements, by the detail of its status.
    """

    id: KernelId
    params: tuple[Register, ...]
    label: str
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True)
class NestStep:
    """Forms ``map``, ``reduce`` and ``rows`` over affine operands.

    The first ``num_stored`` axes are the stored ones. The others are reduced
    (``reduce``), are the columns of a row (``rows``), or run sequentially (``map``),
    because the stores of their points collide. For a ``reduce``, ``combine`` is the
    kernel that combines partial results of dtype ``accumulator``; ``indexed``: it is an
    argmax or argmin, whose outputs are (value, index). ``sums``: the outputs of a
    ``rows`` into which every row accumulates; their first dim runs over groups of rows.
    """

    form: Annotated[str, KIND]
    kernel: KernelUse
    extents: tuple[Register, ...]
    num_stored: UInt8
    outputs: tuple[Operand, ...]
    inputs: tuple[Operand, ...]
    combine: KernelUse | None = None
    accumulator: DTypeName | None = None
    indexed: bool = False
    sums: tuple[UInt8, ...] = ()


@dataclass(frozen=True)
class GeneralStep:
    """Form ``nest``: a kernel that receives whole values with their sizes and strides.

    ``parallel``: points that differ in the first axis write different elements.
    ``identity``: the initial contents of the outputs (None: the kernel writes every
    element). ``channels_innermost``: the kernel also serves NHWC outputs. ``begins``:
    its machine code does not need the identity in the outputs; without machine code
    they are filled.
    """

    kernel: KernelUse
    extents: tuple[Register, ...]
    outputs: tuple[ValueNumber, ...]
    inputs: tuple[ValueNumber, ...]
    parallel: bool
    identity: Number | None
    channels_innermost: bool
    begins: bool


@dataclass(frozen=True)
class GemmStep:
    """Form ``gemm``: C = A B (+ bias) for each point of the batch axes.

    ``groups``: the number of axes that are batch, rows, columns and depth, in this
    order. ``padded``: the numbers of the inputs that are zero-padded.
    """

    kernel: KernelUse
    extents: tuple[Register, ...]
    groups: tuple[UInt8, ...]
    output: Operand
    inputs: tuple[Operand, ...]
    padded: tuple[UInt8, ...]


@dataclass(frozen=True)
class ScanStep:
    """Form ``scan``: the last axis is scanned, the others are independent."""

    kernel: KernelUse
    extents: tuple[Register, ...]
    outputs: tuple[Operand, ...]
    inputs: tuple[Operand, ...]


@dataclass(frozen=True)
class LocalValue:
    """A value of which only one block exists, in memory shared by its ``slot``."""

    value: ValueNumber
    slot: UInt16


@dataclass(frozen=True)
class BlockStep:
    """``steps`` run together on one block of their shared axes, then on the next.

    ``axes``: per step the class of each of its axes; ``extents``: of the classes. The
    first ``parallel`` classes run in any order, the next ``sequential`` ones in order.
    Next is the class that is split into blocks (``cut_is_sequential``: in order). A
    product whose depth is among them accumulates. ``triangle``: the class of columns of
    which a block needs only those up to the number of its own last row; -1: none.
    ``kernel``: for devices, the steps as one kernel over the classes, with the operands
    that are not local; None if one of them has no strides along the classes.
    """

    steps: Annotated[tuple[NestStep | GemmStep, ...], steps_field()]
    axes: tuple[tuple[UInt8, ...], ...]
    extents: tuple[Register, ...]
    parallel: UInt8
    sequential: UInt8
    cut_is_sequential: bool
    locals: tuple[LocalValue, ...]
    triangle: Int8
    kernel: KernelUse | None = None
    outputs: tuple[Operand, ...] = ()
    inputs: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class RecurrenceStep:
    """``carries, extras = body(carries, sequences[t], constants)`` for every t; the
    outputs stack them. ``orders``: per constant, its dims, outermost in memory first,
    in the order that suits the body's reads; empty if that does not matter.

    ``bound``: pairs of a register of the body and the register here that it takes.
    ``stacked``: per output; of the others, which are carries, only the last value is
    returned. ``lanes``: per input and then per output of the body, the dim of its lanes
    (lower/lanes.py); empty if there are none. ``shifts``: per sequence 0, -1 or 1: the
    body reads the element at that distance from t, and beyond the sequence the next one
    of ``edges``.
    """

    body: Annotated[Plan, NESTED]
    bound: Annotated[tuple[tuple[Register, Register], ...], FLAT]
    length: Register
    reverse: bool
    carries: tuple[ValueNumber, ...]
    sequences: tuple[ValueNumber, ...]
    shifts: tuple[Int8, ...]
    edges: tuple[ValueNumber, ...]
    constants: tuple[ValueNumber, ...]
    orders: tuple[tuple[UInt16, ...], ...]
    outputs: tuple[ValueNumber, ...]
    stacked: tuple[bool, ...]
    lanes: tuple[Int8, ...]


@dataclass(frozen=True)
class FillStep:
    """Every element of the output is ``value``."""

    output: ValueNumber
    value: Number


@dataclass(frozen=True)
class ViewStep:
    """The output shares the source's memory: its dims are axes of ``source.dims``."""

    output: ValueNumber
    source: Operand


@dataclass(frozen=True)
class ReshapeStep:
    """Row-major reshape: a view if the strides allow it, otherwise a copy."""

    output: ValueNumber
    source: ValueNumber


@dataclass(frozen=True)
class CopyStep:
    """The output is a copy of ``source``, or takes over its memory at its last use."""

    output: ValueNumber
    source: ValueNumber


@dataclass(frozen=True)
class LibraryStep:
    """Calls the routine ``name``; ``numbers`` are options from the call."""

    name: str
    outputs: tuple[ValueNumber, ...]
    inputs: tuple[ValueNumber, ...]
    options: tuple[tuple[str, Option], ...]
    numbers: tuple[tuple[str, Register], ...]


@dataclass(frozen=True)
class NonzeroStep:
    """Indices of the true elements; ``count`` is the register of their number."""

    output: ValueNumber
    source: ValueNumber
    count: Register


@dataclass(frozen=True)
class ComputeStep:
    """Runs the register program up to ``end``: for sizes known after earlier steps."""

    end: UInt16


@dataclass(frozen=True)
class IndexedDim:
    """The elements of input ``index`` are indices along ``dim``, of the size of dim
    ``size_dim`` of input ``size_of``; -1: of all its elements in row-major order.
    ``wraps``: negative ones count from the end.
    """

    index: ValueNumber
    dim: UInt8
    size_of: ValueNumber
    size_dim: Int8
    wraps: bool


@dataclass(frozen=True)
class Plan:
    """``start``: the instructions that run before the first step. Where an index is out
    of bounds, the error ``index_error`` has the text ``index_message`` with the index
    and the size for ``{}``, or if empty one that says which of ``indexed`` it is.
    """

    name: str
    num_inputs: UInt16
    program: tuple[Instruction, ...]
    start: UInt16
    messages: tuple[Message, ...]
    values: tuple[PlanValue, ...]
    steps: Annotated[tuple[Step, ...], steps_field()]
    outputs: tuple[ValueNumber, ...]
    releases: tuple[tuple[ValueNumber, ...], ...] = field(default=())
    index_error: ErrorName = "IndexError"
    index_message: str = ""
    indexed: tuple[IndexedDim, ...] = ()


STEPS: Final = Alternatives(
    "AnyStep",
    STEP,
    {
        "map": NestStep,
        "reduce": NestStep,
        "rows": NestStep,
        "nest": GeneralStep,
        "gemm": GemmStep,
        "scan": ScanStep,
        "recurrence": RecurrenceStep,
        "fill": FillStep,
        "view": ViewStep,
        "reshape": ReshapeStep,
        "copy": CopyStep,
        "library": LibraryStep,
        "nonzero": NonzeroStep,
        "compute": ComputeStep,
        "block": BlockStep,
    },
)
_KIND_OF: Final = {record: kind for kind, record in STEPS.records.items()}
RECORDS: Final = (
    *(Instruction, Message, PlanValue, DimMap, Operand, KernelUse, LocalValue),
    *(STEPS, IndexedDim, Plan),
)
"""All records of a plan, each after those that it contains."""


def kind_of(step: Step) -> str:
    """The kind of a step, as named in STEP."""
    return step.form if isinstance(step, NestStep) else _KIND_OF[type(step)]


def steps_field() -> Field:
    return STEPS.list(kind_of)


def encode_plan(plan: Plan) -> bytes:
    """Encode a plan; runtime/plan/plan.cpp decodes it."""
    return encode(encode_record(plan))

"""The records of ``frozen.bin`` and of answers to the runtime, besides plans.

``frozen.bin`` is an 8-byte magic number and one encoded ``FrozenFile``.
``tools/freeze.py`` and ``specialise`` write these; runtime/ops reads them with the
structs of runtime/plan/records.h, which is generated from here. Blocks of bytes are
decoded when an op first needs them. A key has one item per argument (items.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from pellucid_compiler.abi.codes import (
    CAST,
    COMBINE,
    FORM,
    LATE_BODY,
    LAYOUT,
    NUMBER_PART,
    OP_KIND,
    ORIGIN,
    PASS,
    RULE,
    SLOT,
    VARIANT,
)
from pellucid_compiler.abi.fields import (
    LITERAL,
    Alternatives,
    Bits,
    Compressed,
    DTypeName,
    Field,
    Int16,
    Int32,
    KernelId,
    UInt8,
    UInt32,
    code,
)
from pellucid_compiler.abi.items import KeyItems, OperandItems
from pellucid_compiler.abi.plan import Instruction, Message

OpKind: TypeAlias = Annotated[str, code(OP_KIND)]
CastRule: TypeAlias = Annotated[str, code(CAST)]

# ------------------------------------------------------------------------------ file


@dataclass(frozen=True)
class OpRow:
    """An op overload. ``functional``: the index of the record that it is a variant of,
    or -1; ``promoted``: one bit per argument that takes part in promotion; ``inverse``:
    the view that is a join's inverse; ``casts_out``: results are converted to the
    dtypes of the tensors that they are written to, by ``out=`` or in place;
    ``out_dtypes``: the only dtypes that ``out=`` may have, if any; ``writes_shared``:
    in place also where elements share memory; ``saves``: the declaration saves values
    for backward;
    ``unrecorded``: one bit per result without a gradient; ``tags``: PyTorch's,
    space-separated, as in other rows. ``keys``: bytes of a list of KeyedPlan or
    KeyedFunction; ``derivatives``: of a list of KeyedDerivative; both empty for
    variants.
    """

    schema: str
    kind: OpKind
    variant: Annotated[str, code(VARIANT)]
    functional: Int32
    is_method: bool
    is_function: bool
    module: str
    int_to_float: bool
    refuses_bools: bool
    promoted: UInt32
    inverse: str
    layout: Annotated[str, code(LAYOUT)]
    autocast: CastRule
    casts_out: bool
    out_dtypes: tuple[DTypeName, ...]
    writes_shared: bool
    saves: bool
    unrecorded: UInt32
    tags: str
    keys: Compressed
    derivatives: Compressed


@dataclass(frozen=True)
class ConversionRow:
    """The kernel that converts elements of ``source`` to ``target``."""

    target: DTypeName
    source: DTypeName
    kernel: KernelId


@dataclass(frozen=True)
class Program:
    """The tile program (bytes of a TileProgram) that replaces a kernel."""

    kernel: KernelId
    encoded: bytes


@dataclass(frozen=True)
class BindingRow:
    """Where Python exposes a name; ``original``: the name of the aliased op."""

    module: str
    original: str
    is_method: bool
    is_function: bool


@dataclass(frozen=True)
class LateOpRow:
    """The overloads of one name that are defined when it is first looked up:
    ``records`` are bytes of a list of LateRow.
    """

    name: str
    bindings: tuple[BindingRow, ...]
    records: bytes


@dataclass(frozen=True)
class LateRow:
    """An overload without plans; ``named`` is the other record, or the location of the
    body. ``is_seen``: modes see it; ``is_variadic``: its last list may be given as
    separate arguments; ``gives_view``: its result remains a view of what the body
    computed; ``takes_parts``: the body takes tensors stored as parts as they are;
    ``casts_out``: as in OpRow.
    """

    schema: str
    variant: Annotated[str, code(VARIANT)]
    body: Annotated[str, code(LATE_BODY)]
    named: str
    autocast: CastRule
    module: str
    is_method: bool
    is_function: bool
    is_seen: bool
    is_variadic: bool
    gives_view: bool
    takes_parts: bool
    casts_out: bool
    tags: str


@dataclass(frozen=True)
class SeenRow:
    """The op that dispatch modes see instead of an op. ``gradient``: the op that
    computes its gradient; ``given``: what the declared gradients read, and after
    ``name=`` what that op receives besides the op's arguments; ``reads_results``:
    whether a result is among these. ``composed``, ``composed_gradients``: whether there
    are bodies for the op and for gradients;
    ``numbers``: whether another overload takes a number there, ``gt.Scalar``
    (declare/seen.py).
    """

    op: str
    gradient: str
    given: str
    reads_results: bool
    composed: bool
    composed_gradients: bool
    numbers: bool


@dataclass(frozen=True)
class SourceRow:
    """Where an argument of a derived op comes from; ``element`` of a list, or -1."""

    origin: Annotated[str, code(ORIGIN)]
    index: Int16
    element: Int16


@dataclass(frozen=True)
class IntrinsicRow:
    """An op implemented in C++. ``is_seen``: modes see it; ``is_transparent``: function
    transforms do not intercept it; ``instead``: the op that they run instead;
    ``gradient``: the op that computes its gradient, from ``sources``. Strings may be
    empty.
    """

    schema: str
    kind: OpKind
    variant: Annotated[str, code(VARIANT)]
    is_method: bool
    is_function: bool
    module: str
    is_seen: bool
    is_transparent: bool
    instead: str
    autocast: CastRule
    tags: str
    gradient: str
    sources: tuple[SourceRow, ...]


@dataclass(frozen=True)
class DocumentationRow:
    """The offsets of an op name's texts: as a function, and as a method."""

    name: str
    function: UInt32
    method: UInt32


@dataclass(frozen=True)
class FrozenFile:
    """``programs``: bytes of a list of Program; ``late``: of a list of LateOpRow.
    ``documentation`` is sorted by name; its texts are null-terminated.
    """

    ops: tuple[OpRow, ...]
    intrinsics: tuple[IntrinsicRow, ...]
    conversions: tuple[ConversionRow, ...]
    programs: Compressed
    late: bytes
    seen: tuple[SeenRow, ...]
    documentation: tuple[DocumentationRow, ...]
    texts: Compressed


# ------------------------------------------------------------------------------ keys


@dataclass(frozen=True)
class KeyedPlan:
    """``plan``: bytes of a Plan."""

    key: KeyItems
    plan: bytes


@dataclass(frozen=True)
class PointwiseKey:
    """A pointwise key after promotion."""

    common: DTypeName
    items: OperandItems


@dataclass(frozen=True)
class KeyedFunction:
    """``function``: bytes of a Function."""

    key: PointwiseKey
    function: bytes


@dataclass(frozen=True)
class KeyedDerivative:
    """``mask``: one bit per input; ``derivative``: bytes of a GuardedDerivative."""

    rule: Annotated[str, code(RULE)]
    mask: Bits
    key: KeyItems
    derivative: bytes


# ------------------------------------------------------------------------- functions


@dataclass(frozen=True)
class FunctionInput:
    """An operand: argument, or FIRST_DRAW + w for random word w."""

    argument: UInt8
    dtype: DTypeName


@dataclass(frozen=True)
class FunctionParameter:
    """A number in a 64-bit slot of int64 or float64. ``exact``: refuses floats if
    integers are computed, and bools unless bools are; ``nonnegative``: refuses negative
    numbers if integers are computed; ``range``: the dtype that must represent it.
    """

    argument: UInt8
    dtype: DTypeName
    exact: bool
    nonnegative: bool
    range: DTypeName | None
    part: Annotated[str, code(NUMBER_PART)]


@dataclass(frozen=True)
class NumberChecks:
    """Requirements on numbers, checked before the kernel runs."""

    program: tuple[Instruction, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Function:
    """What a pointwise op computes at one key. ``draws``: random words per element;
    ``requirements``: on elements, by the detail of the kernel's status.
    """

    kernel: KernelId
    inputs: tuple[FunctionInput, ...]
    outputs: tuple[DTypeName, ...]
    params: tuple[FunctionParameter, ...]
    draws: UInt8
    checks: NumberChecks | None
    requirements: tuple[Message, ...]


# ----------------------------------------------------------------------- derivatives


@dataclass(frozen=True)
class DerivedOp:
    """An op without a name of its own. ``origin``: how Python derives it again, in the
    form of a request; ``keys``: as in OpRow.
    """

    schema: str
    kind: OpKind
    promoted: UInt32
    origin: bytes
    keys: bytes


@dataclass(frozen=True)
class SizeRow:
    """One integer of the ``sizes`` argument: a tensor argument's size along ``dim``."""

    argument: Int16
    element: Int16
    dim: Int16


@dataclass(frozen=True)
class PassedRow:
    """A gradient that is passed on unchanged, from a result to an input."""

    gradient: Int16
    input: Int16


@dataclass(frozen=True)
class DerivativeRow:
    """How gradients or tangents are computed. ``results``: the input of each gradient,
    or the output of each tangent; ``broadcasts``: results have the broadcast shape;
    ``saved_...``: bits over inputs and results; ``node``: the name of autograd's node;
    ``forward``: the op that runs instead of the op, to return the values to save.
    """

    op: DerivedOp | None
    arguments: tuple[SourceRow, ...]
    sizes: tuple[SizeRow, ...]
    results: tuple[Int16, ...]
    broadcasts: bool
    saved_arguments: Bits
    saved_results: UInt32
    node: str
    passed: tuple[PassedRow, ...]
    forward: DerivedOp | None


@dataclass(frozen=True)
class GuardedDerivative:
    """A derivative for calls that pass the guards; none: not differentiable."""

    guards: tuple[Instruction, ...]
    derivative: DerivativeRow | None


# --------------------------------------------------------------------- tile programs


@dataclass(frozen=True)
class NumberedSlot:
    """An operand, a number, a row's value or an axis."""

    dtype: DTypeName
    number: Int32


@dataclass(frozen=True)
class ConstantSlot:
    """The same value for every element."""

    dtype: DTypeName
    value: Annotated[bool | int | float | complex, LITERAL]


@dataclass(frozen=True)
class OpSlot:
    """One scalar op over earlier slots."""

    dtype: DTypeName
    kernel: KernelId
    arguments: tuple[Int32, ...]


@dataclass(frozen=True)
class BitcastSlot:
    """The bits of an earlier slot."""

    dtype: DTypeName
    argument: Int32


@dataclass(frozen=True)
class GatherSlot:
    """``mask``, ``fill``: slots or -1: where it reads, and the value elsewhere."""

    dtype: DTypeName
    operand: Int32
    mask: Int32
    fill: Int32
    indices: tuple[Int32, ...]


@dataclass(frozen=True)
class CheckSlot:
    """The value of slot ``value``, if slot ``condition`` is true; otherwise check
    ``number`` fails, except for elements that slot ``mask`` (or -1) excludes.
    """

    dtype: DTypeName
    number: Int32
    mask: Int32
    value: Int32
    condition: Int32


SLOTS: Final = Alternatives(
    "AnySlot",
    SLOT,
    {
        "input": NumberedSlot,
        "const": ConstantSlot,
        "param": NumberedSlot,
        "row": NumberedSlot,
        "axis": NumberedSlot,
        "op": OpSlot,
        "bitcast": BitcastSlot,
        "gather": GatherSlot,
        "check": CheckSlot,
    },
)


def _encoded(kind: str, cpp: str) -> Field:
    """A list of alternatives that are encoded one by one."""
    return Field(
        f"std::vector<{cpp}>",
        f"in.list_of<{cpp}>([&] {{ return {cpp}::read(in); }})",
        f"list of [{kind} code, fields of its record]",
    )


@dataclass(frozen=True)
class ScalarProgram:
    """Slots in order; ``results`` are numbers of slots."""

    slots: Annotated[Any, _encoded("SlotKind", "AnySlot")]
    results: tuple[Int32, ...]


@dataclass(frozen=True)
class ReducePass:
    """Kernels: ``first`` from values to accumulators, ``again`` from accumulators."""

    program: ScalarProgram
    first: KernelId
    again: KernelId
    accumulator: DTypeName


@dataclass(frozen=True)
class StoringPass:
    """Stores to output ``output``."""

    program: ScalarProgram
    output: Int32


PASSES: Final = Alternatives(
    "AnyPass",
    PASS,
    {
        "reduce": ReducePass,
        "map": StoringPass,
        "store": StoringPass,
        "add": StoringPass,
    },
)


@dataclass(frozen=True)
class StoreRow:
    """A store of a nest: the rank of its index; whether it drops elements out of
    bounds.
    """

    rank: Int32
    drops: bool


@dataclass(frozen=True)
class MapProgram:
    """One element of each output."""

    program: ScalarProgram


@dataclass(frozen=True)
class CombiningProgram:
    """``whole``: the kernel that combines the computed values."""

    program: ScalarProgram
    whole: KernelId


@dataclass(frozen=True)
class RowsProgram:
    """Passes over a row, in order."""

    passes: Annotated[Any, _encoded("RowPassKind", "AnyPass")]


@dataclass(frozen=True)
class NestProgram:
    """A nest over ``rank`` axes."""

    program: ScalarProgram
    rank: Int32
    operand_ranks: tuple[Int32, ...]
    combine: Annotated[str, code(COMBINE)]
    stores: tuple[StoreRow, ...]


FORMS: Final = Alternatives(
    "AnyProgram",
    FORM,
    {
        "map": MapProgram,
        "reduce": CombiningProgram,
        "scan": CombiningProgram,
        "rows": RowsProgram,
        "nest": NestProgram,
    },
)


@dataclass(frozen=True)
class TileProgram:
    """How a kernel runs without machine code: tile by tile, one scalar op at a time."""

    body: Annotated[
        Any,
        Field("AnyProgram", "AnyProgram::read(in)", "[TileForm code, its fields]"),
    ]
    outputs: tuple[DTypeName, ...]
    inputs: tuple[DTypeName, ...]
    params: tuple[DTypeName, ...]


RECORDS: Final = (
    *(OpRow, ConversionRow, Program, BindingRow, LateOpRow, LateRow, SeenRow),
    *(SourceRow, IntrinsicRow, DocumentationRow, FrozenFile),
    *(KeyedPlan, PointwiseKey, KeyedFunction, KeyedDerivative),
    *(FunctionInput, FunctionParameter, NumberChecks, Function),
    *(DerivedOp, SizeRow, PassedRow, DerivativeRow, GuardedDerivative),
    *(SLOTS, ScalarProgram, PASSES, StoreRow, FORMS, TileProgram),
)
"""All records except those of plans, each after those that it contains."""

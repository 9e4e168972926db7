"""The records of ``frozen.bin`` and of answers to the runtime, around the plans.

``frozen.bin`` is an 8-byte magic number and one encoded ``FrozenFile``.
``tools/freeze.py`` and ``specialise`` write these, runtime/ops reads them by the
structs of runtime/plan/records.h, which is generated from here. Blocks of bytes are
decoded when an op first needs them. A *key* lists an item per argument: none where it
is not given, a static value as it is, else a list that ``ItemKind`` begins.
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
    DTypeName,
    Field,
    Int16,
    Int32,
    KernelId,
    UInt8,
    UInt32,
    code,
)
from pellucid_compiler.abi.plan import Instruction, Message

OpKind: TypeAlias = Annotated[str, code(OP_KIND)]
CastRule: TypeAlias = Annotated[str, code(CAST)]
KeyItems: TypeAlias = Annotated[Any, Field("Decoder", "in.nested()", "key")]

# ------------------------------------------------------------------------------ file


@dataclass(frozen=True)
class OpRow:
    """An op overload. ``functional``: the position of the record that it is a variant
    of, or -1; ``promoted``: bits of the arguments that join promotion; ``inverse``: the
    view that takes a join apart; ``saves``: the declaration saves values for its
    gradient; ``tags``: PyTorch's, between spaces, as in other rows. ``keys``: bytes of
    a list of KeyedPlan or KeyedFunction; ``derivatives``: of a list of KeyedDerivative;
    both empty for variants.
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
    saves: bool
    tags: str
    keys: bytes
    derivatives: bytes


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
    """Where Python finds a name; ``original`` is what an alias names."""

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
    """An overload without plans; ``named`` is the other record, or the body's place.
    ``is_seen``: modes see it; ``is_variadic``: its last list may come loose;
    ``gives_view``: its result stays a view of what the body computed.
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
    tags: str


@dataclass(frozen=True)
class SeenRow:
    """What dispatch modes see in place of an op. ``gradient``: the op that gives its
    gradient; ``given``: what the declared gradients read, and by ``name=`` what that op
    is given beside the op's arguments. ``composed``, ``composed_gradients``: whether
    there are bodies for the op and for gradients; ``numbers``: whether a number is an
    argument of another overload, ``gt.Scalar`` (declare/seen.py).
    """

    op: str
    gradient: str
    given: str
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
    """An op that C++ carries out. ``is_seen``: modes see it; ``is_transparent``:
    function transforms let it run; ``instead``: the op that they run in its place;
    ``gradient``: the op that computes it, of ``sources``. Texts may be empty.
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
    """Where the texts of an op's name begin: as a function, and as a method."""

    name: str
    function: UInt32
    method: UInt32


@dataclass(frozen=True)
class FrozenFile:
    """``programs``: bytes of a list of Program; ``late``: of a list of LateOpRow.
    ``documentation`` is sorted by name; its texts end with a zero byte each.
    """

    ops: tuple[OpRow, ...]
    intrinsics: tuple[IntrinsicRow, ...]
    conversions: tuple[ConversionRow, ...]
    programs: bytes
    late: bytes
    seen: tuple[SeenRow, ...]
    documentation: tuple[DocumentationRow, ...]
    texts: bytes


# ------------------------------------------------------------------------------ keys


@dataclass(frozen=True)
class KeyedPlan:
    """``plan``: bytes of a Plan."""

    key: KeyItems
    plan: bytes


@dataclass(frozen=True)
class PointwiseKey:
    """A pointwise key behind promotion: none, [tensor, DType code], [number] or
    [static, item] per argument.
    """

    common: DTypeName
    items: KeyItems


@dataclass(frozen=True)
class KeyedFunction:
    """``function``: bytes of a Function."""

    key: PointwiseKey
    function: bytes


@dataclass(frozen=True)
class KeyedDerivative:
    """``mask``: bits of inputs; ``derivative``: bytes of a GuardedDerivative."""

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
    """A number in a 64-bit slot of int64 or float64. ``exact``: no float where integers
    are computed, no bool but for bools; ``nonnegative``: no negative number where
    integers are computed; ``range``: the dtype that must hold it.
    """

    argument: UInt8
    dtype: DTypeName
    exact: bool
    nonnegative: bool
    range: DTypeName | None
    part: Annotated[str, code(NUMBER_PART)]


@dataclass(frozen=True)
class NumberChecks:
    """What is required of numbers, before the kernel runs."""

    program: tuple[Instruction, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Function:
    """What a pointwise op computes at one key. ``draws``: random words per element;
    ``requirements``: of elements, by the detail of the kernel's status.
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
    """An op without a name of its own. ``origin``: how Python derives it again, as a
    request says it; ``keys``: as those of OpRow.
    """

    schema: str
    kind: OpKind
    promoted: UInt32
    origin: bytes
    keys: bytes


@dataclass(frozen=True)
class SizeRow:
    """One integer of the ``sizes`` argument: of a tensor argument, along ``dim``."""

    argument: Int16
    element: Int16
    dim: Int16


@dataclass(frozen=True)
class PassedRow:
    """A gradient that goes on as it came: of a result to an input."""

    gradient: Int16
    input: Int16


@dataclass(frozen=True)
class DerivativeRow:
    """How gradients or tangents are computed. ``results``: the input of each gradient,
    the output of each tangent; ``broadcasts``: results have the broadcast shape;
    ``saved_...``: bits over inputs and results; ``node``: the name of autograd's node;
    ``forward``: what runs in place of the op, to give what is saved.
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
    """A derivative for the calls that pass the guards; none: not differentiable."""

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
    """``mask`` and ``fill`` are slots or -1: where it reads, what it is elsewhere."""

    dtype: DTypeName
    operand: Int32
    mask: Int32
    fill: Int32
    indices: tuple[Int32, ...]


@dataclass(frozen=True)
class CheckSlot:
    """The value of slot ``value``, where slot ``condition`` holds: elsewhere check
    ``number`` fails, but for elements that slot ``mask`` (or -1) does not need.
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
    """A list of alternatives that were encoded one by one."""
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
    """``first``: the kernel from values to accumulators, ``again``: of these."""

    program: ScalarProgram
    first: KernelId
    again: KernelId
    accumulator: DTypeName


@dataclass(frozen=True)
class StoringPass:
    """To output ``output``."""

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
    """A store of a nest: the rank of its index; whether it drops what is outside."""

    rank: Int32
    drops: bool


@dataclass(frozen=True)
class MapProgram:
    """One element of each output."""

    program: ScalarProgram


@dataclass(frozen=True)
class CombiningProgram:
    """``whole``: the kernel that combines computed values."""

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
    """How a kernel runs without machine code: over tiles, one scalar op at a time."""

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
"""All records beside those of plans, each behind those that it holds."""

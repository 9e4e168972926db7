"""Records are encoded as their annotations say; what they cannot hold is refused."""

import pytest

from pellucid_compiler.abi.codes import ALL, STEP
from pellucid_compiler.abi.encode import decode, encode
from pellucid_compiler.abi.fields import encode_record, fields_of
from pellucid_compiler.abi.opcodes import NOTHING, OPCODES
from pellucid_compiler.abi.plan import (
    STEPS,
    DimMap,
    FillStep,
    Instruction,
    Operand,
    ViewStep,
    kind_of,
)
from pellucid_compiler.abi.records import RECORDS, SLOTS, ConstantSlot, NumberedSlot
from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

VIEW = ViewStep(5, Operand(2, (DimMap(-1, ((0, -1), (3, 7))),)))


def test_a_record_is_the_list_of_its_fields():
    assert encode_record(VIEW) == [5, [2, [[-1, [0, -1, 3, 7]]]]]
    assert decode(encode(encode_record(Instruction("const", value=0.5)))) == [
        *(0, -1, -1, -1),
        0.5,
    ]


def test_a_step_is_its_kind_and_its_fields():
    written = STEPS.encode(kind_of(VIEW), VIEW)
    assert written == [STEP["view"], *encode_record(VIEW)]
    assert STEPS.encode("fill", FillStep(1, True)) == [STEP["fill"], 1, True]


def test_a_record_of_another_kind_is_refused():
    with pytest.raises(AssertionError):
        SLOTS.encode("const", NumberedSlot("float32", 0))


@pytest.mark.parametrize(
    "record",
    [Instruction("no_such_op"), ConstantSlot("float12", 1.0)],
    ids=["opcode", "dtype"],
)
def test_an_unknown_name_is_refused(record):
    with pytest.raises(KeyError):
        encode_record(record)


def test_members_of_enumerations_have_different_names():
    for codes in ALL:
        assert len(set(codes.symbols)) == len(codes.symbols)
        assert len(codes.codes) == len(codes.names) <= 256
    with pytest.raises(KeyError, match="StepKind has no member 'jump'"):
        STEP["jump"]


def test_every_record_says_how_its_fields_are_read():
    for record in RECORDS:
        if isinstance(record, type):
            assert all(item.field.read for item in fields_of(record)), record


def test_instructions_of_scalar_ops_are_scalar_ops():
    names = [row.name for row in OPCODES]
    assert len(set(names)) == len(names)
    computed = {op.name for op in SCALAR_OPS.values() if op.integers}
    computed |= {f"{op.name}.number" for op in SCALAR_OPS.values() if op.numbers}
    given = {row.name for row in OPCODES if row.takes != NOTHING}
    assert given - computed == {
        *("guard", "require", "select", "to_number", "to_integer", "to_single"),
        *("not_zero", "not_zero.number"),
    }
    assert computed <= given

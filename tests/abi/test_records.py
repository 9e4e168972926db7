"""Records are encoded as their annotations say; what they cannot hold is refused."""

import pytest

from pellucid_compiler.abi.codes import ALL, STEP
from pellucid_compiler.abi.encode import decode, encode
from pellucid_compiler.abi.fields import encode_record, fields_of
from pellucid_compiler.abi.opcodes import INSTRUCTIONS
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
from pellucid_compiler.ir.opcodes import OPCODES
from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

VIEW = ViewStep(5, Operand(2, (DimMap(-1, ((0, -1), (3, 7))),)))


def test_a_record_is_the_list_of_its_fields():
    assert encode_record(VIEW) == [5, [2, [[-1, [0, -1, 3, 7]]]]]
    assert decode(encode(encode_record(Instruction(OPCODES["const"], value=0.5)))) == [
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


def test_an_unknown_name_is_refused():
    with pytest.raises(KeyError):
        encode_record(ConstantSlot("float12", 1.0))


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


def test_every_scalar_op_with_code_for_registers_is_an_instruction():
    forms = [(op, "integers", op.name) for op in SCALAR_OPS.values() if op.integers]
    forms += [
        (op, "numbers", f"{op.name}.number") for op in SCALAR_OPS.values() if op.numbers
    ]
    of_programs = [row.name for row in INSTRUCTIONS]
    assert {*of_programs, *(name for _, _, name in forms)} == set(OPCODES)
    for op, takes, name in forms:
        assert OPCODES[name].takes + "s" == takes
        assert OPCODES[name].registers == op.arity


def test_opcodes_are_numbered_in_the_order_of_the_table():
    assert [row.code for row in OPCODES.values()] == list(range(len(OPCODES)))
    assert OPCODES["sqrt.number"].gives == "number"
    assert OPCODES["lt.number"].gives == OPCODES["and"].gives == "integer"

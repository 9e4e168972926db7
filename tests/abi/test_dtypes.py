"""The table of dtypes, and promotion as the built runtime does it."""

import itertools

import pytest

import pellucid as torch
from pellucid_compiler.abi.dtypes import (
    BY_NAME,
    CODES,
    DTYPES,
    MOST_DTYPES,
    OPAQUE,
    complex_of,
    promote,
    raise_category,
)
from pellucid_compiler.declare.key import NumberKey, TensorKey
from pellucid_compiler.ir.dtypes import dtype_of_number
from pellucid_compiler.ir.dtypes import promote as promote_weak
from pellucid_compiler.specialise.promotion import common_dtype

# PyTorch's promotions that do not follow from widths.
MEETINGS = [
    ("uint8", "int8", "int16"),
    ("uint8", "int16", "int16"),
    ("float16", "bfloat16", "float32"),
    ("int64", "float16", "float16"),
    ("float64", "complex64", "complex128"),
    ("bfloat16", "complex64", "complex64"),
    ("bool", "uint8", "uint8"),
]


@pytest.mark.parametrize(("first", "second", "common"), MEETINGS)
def test_promotion_is_pytorchs(first, second, common):
    assert promote(first, second) == promote(second, first) == common


@pytest.mark.parametrize("first", BY_NAME)
def test_the_runtime_promotes_by_the_table(first):
    for second in BY_NAME:
        arguments = getattr(torch, first), getattr(torch, second)
        common = promote(first, second)
        if common is None:
            with pytest.raises(RuntimeError, match="is not supported"):
                torch.promote_types(*arguments)
        else:
            assert torch.promote_types(*arguments) is getattr(torch, common)


VALUED = [row.name for row in DTYPES if not row.opaque]


@pytest.mark.parametrize("deciding", VALUED)
def test_a_tensor_without_dims_counts_by_its_category(deciding):
    with_dims = torch.empty(2, dtype=getattr(torch, deciding))
    for other in VALUED:
        without = torch.empty((), dtype=getattr(torch, other))
        common = raise_category(deciding, other)
        if common is None:
            with pytest.raises(RuntimeError, match="is not supported"):
                torch.result_type(with_dims, without)
        else:
            assert torch.result_type(with_dims, without) is getattr(torch, common)


def test_promotion_is_a_lattice():
    whole = [row.name for row in DTYPES if row.offers is None]
    for a, b, c in itertools.product(whole, repeat=3):
        if {"int8", "uint8"} <= {a, b, c}:
            continue  # uint8 and int8 promote to int16 before a wider dtype is reached
        assert promote(promote(a, b), c) == promote(a, promote(b, c)), (a, b, c)


def test_codes_fit_into_keys_and_files():
    assert sorted(CODES.values()) == list(range(len(DTYPES)))
    assert len(DTYPES) <= MOST_DTYPES < 256


@pytest.mark.parametrize("row", DTYPES, ids=lambda row: row.name)
def test_the_runtime_knows_a_row(row):
    dtype = getattr(torch, row.name)
    assert dtype.itemsize == row.size
    if row.category == OPAQUE:
        with pytest.raises(RuntimeError, match="no sign"):
            dtype.is_signed  # noqa: B018 - reading raises
    else:
        assert dtype.is_signed is row.signed
    assert torch.empty(0, dtype=dtype).type() == f"torch.{row.word}Tensor"
    if row.formats:
        exported = memoryview(torch.zeros(1, dtype=dtype).numpy())
        assert exported.format in row.formats


def test_parts_of_complex_dtypes_hold_what_they_promise():
    assert complex_of("float16") == "complex32"
    assert complex_of("bfloat16") == "complex64"
    assert complex_of("float64") == "complex128"


KINDS = [*((name, rank) for name in VALUED for rank in (1, 0)), *(0, 1.5, 2j, True)]


def operand(arguments):
    """The operand of the runtime and of the engine for a dtype, with or without dims,
    or a number.
    """
    if isinstance(arguments, tuple):
        name, rank = arguments
        key = TensorKey(name, rank)
        return torch.empty((2,) * rank, dtype=getattr(torch, name)), key
    return arguments, NumberKey(dtype_of_number(arguments))


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_both_sides_promote_every_pair_of_operands_alike(default):
    differing = []
    torch.set_default_dtype(getattr(torch, default))
    try:
        for first, second in itertools.combinations_with_replacement(KINDS, 2):
            arguments, keys = zip(operand(first), operand(second), strict=True)
            try:
                actual = str(torch.result_type(*arguments)).partition(".")[2]
            except RuntimeError:
                continue  # refused; tested above
            if actual != common_dtype(keys, 0b11, False, default):
                differing.append((first, second))
    finally:
        torch.set_default_dtype(torch.float32)
    assert differing == []


# Pairs of dtypes that PyTorch refuses to promote.
REFUSED = [
    ("uint16", "uint8", "uint16, uint32, uint64 types"),
    ("bool", "uint64", "uint16, uint32, uint64 types"),
    ("uint16", "uint1", "uint16, uint32, uint64 types"),
    ("float8_e5m2", "uint1", "Float8 Types"),
    ("float8_e5m2", "float8_e4m3fn", "Float8 Types"),
]


@pytest.mark.parametrize(("first", "second", "kind"), REFUSED)
def test_both_sides_refuse_promotion_alike(first, second, kind):
    with pytest.raises(RuntimeError, match=f"Promotion for {kind}") as runtime:
        torch.promote_types(getattr(torch, first), getattr(torch, second))
    with pytest.raises(RuntimeError) as engine:
        promote_weak(first, second)
    assert str(engine.value) == str(runtime.value)

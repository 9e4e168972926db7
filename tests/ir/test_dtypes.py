"""Promotion and Python values in dtypes."""

import itertools

import numpy as np
import pytest

from pellucid_compiler.abi.dtypes import promote as joined
from pellucid_compiler.ir import dtypes
from pellucid_compiler.ir.dtypes import promote, python_value


def test_formats_of_storage_join_nothing():
    for pair in (("float8_e5m2", "float32"), ("uint16", "int64"), ("bits8", "uint8")):
        with pytest.raises(RuntimeError, match="Promotion for"):
            promote(*pair)


def test_promotion_is_symmetric_and_above_both_categories():
    pairs = [p for p in itertools.product(dtypes.DTYPES, repeat=2) if joined(*p)]
    assert len(pairs) > 200
    for pair in pairs:
        actual = promote(*pair)
        assert actual == promote(*reversed(pair)), pair
        assert dtypes.is_float(actual) == any(map(dtypes.is_float, pair)), pair


@pytest.mark.parametrize(
    "first,second,expected",
    [
        ("uint8", "int8", "int16"),
        ("uint8", "int64", "int64"),
        ("float16", "bfloat16", "float32"),
        ("int64", "float16", "float16"),
        ("complex64", "float64", "complex128"),
        ("bool", "weakint", "weakint"),
        ("int32", "weakint", "int32"),
        ("int64", "weakfloat", "weakfloat"),
        ("bfloat16", "weakfloat", "bfloat16"),
        ("float64", "weakcomplex", "complex128"),
    ],
)
def test_promotion_follows_pytorch(first, second, expected):
    assert promote(first, second) == expected


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_values_round_as_numpy_rounds(dtype):
    for value in (0.1, 1 / 3, 1e-8, 65504.0, 65520.0, 1e39, -1e300, float("inf")):
        with np.errstate(over="ignore"):
            assert python_value(value, dtype) == float(np.asarray(value, dtype))


def test_bfloat16_rounds_to_nearest_even():
    assert python_value(1 + 2**-8, "bfloat16") == 1.0
    assert python_value(1 + 3 * 2**-8, "bfloat16") == 1 + 2**-6
    assert python_value(3.4e38, "bfloat16") == float("inf")


def test_integers_wrap_and_out_of_range_floats_are_the_lowest():
    assert python_value(300, "uint8") == 44
    assert python_value(-1.0, "uint8") == 255
    assert python_value(200, "int8") == -56
    assert python_value(float("nan"), "int64") == -(2**63)
    assert python_value(3e9, "int32") == -(2**31)

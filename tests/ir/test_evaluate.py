"""Scalar expressions are total, and loads are checked."""

import math

import numpy as np
import pytest

from pellucid_compiler.ir.evaluate import evaluate, round_to_bfloat16
from pellucid_compiler.ir.expr import (
    SCALAR_OPS,
    axis,
    cast,
    load,
    make,
    padded_load,
    select,
)
from pellucid_compiler.ir.partials import partials

GRID = [np.arange(4)]
NAN, INF = np.nan, np.inf


def apply(op, *arrays):
    loads = [load(k, (axis(0),), str(a.dtype)) for k, a in enumerate(arrays)]
    return evaluate(make(op, *loads), {}, [np.arange(len(arrays[0]))], arrays)


def test_integer_division_by_zero_is_zero():
    a, b = np.array([5, -5, 7]), np.array([0, 0, -2])
    assert apply("floordiv", a, b).tolist() == [0, 0, -4]
    assert apply("mod", a, b).tolist() == [0, 0, -1]


def test_wide_shifts_empty_the_word():
    a, b = np.array([1, -5, 3]), np.array([64, 70, 1])
    assert apply("shl", a, b).tolist() == [0, 0, 6]
    assert apply("shr", a, b).tolist() == [0, -1, 1]


def test_integer_powers_of_negative_exponents():
    a, b = np.array([2, -1, 1, 0, -1]), np.array([-1, -1, -3, -1, -2])
    assert apply("pow", a, b).tolist() == [0, -1, 1, 0, 1]


def test_floats_out_of_range_convert_to_the_lowest_integer():
    x = np.array([NAN, 1e30, -1e30, 300.0, -1.0], "float32")
    e = load(0, (axis(0),), "float32")
    grid = [np.arange(5)]
    assert evaluate(cast(e, "int32"), {}, grid, [x]).tolist()[:2] == [-(2**31)] * 2
    assert evaluate(cast(e, "uint8"), {}, grid, [x]).tolist() == [0, 0, 0, 44, 255]


def test_maximum_propagates_nan_and_sign_of_nan_is_zero():
    a = np.array([NAN, 1.0])
    assert np.isnan(apply("maximum", a, np.array([0.0, 2.0]))[0])
    assert apply("sign", a).tolist() == [0.0, 1.0]


def test_bfloat16_rounding_keeps_nan_and_infinity():
    x = np.array([1 + 2.0**-8, NAN, INF, 3.4e38], "float32")
    got = round_to_bfloat16(np, x)
    assert got[0] == 1 and np.isnan(got[1]) and np.isinf(got[2:]).all()


def test_load_out_of_bounds_is_an_error():
    with pytest.raises(IndexError, match=r"index 4 is out of bounds .* size 4"):
        evaluate(load(0, (axis(0) + 1,), "float64"), {}, GRID, [np.ones(4)])


def test_load_under_an_untaken_select_is_not_executed():
    e = select(axis(0) > 0, load(0, (axis(0) - 1,), "float64"), 7.0)
    assert evaluate(e, {}, GRID, [np.arange(4.0)]).tolist() == [7, 0, 1, 2]


def test_padded_load_gives_its_fill_outside():
    e = padded_load(0, (axis(0) - 1,), 9.0, "float64")
    assert evaluate(e, {}, GRID, [np.arange(4.0)]).tolist() == [9, 0, 1, 2]


DOMAINS = {"acosh": (1.2, 3), "atanh": (-0.8, 0.8), "erfinv": (-0.8, 0.8)}
SMOOTH = [
    name
    for name, op in SCALAR_OPS.items()
    if op.slopes is not None and name not in ("floordiv", "mod", "fmod")
]


@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_are_difference_quotients(name):
    low, high = DOMAINS.get(name, (0.2, 0.9))
    arity = SCALAR_OPS[name].arity
    points = np.random.default_rng(0).uniform(low, high, (arity, 8))
    loads = [load(k, (axis(0),), "float64") for k in range(arity)]
    e = make(name, *loads)
    actual = partials(e, lambda leaf: True)
    grid, step = [np.arange(8)], 1e-6
    for k, leaf in enumerate(loads):
        above, below = points.copy(), points.copy()
        above[k] += step
        below[k] -= step
        want = evaluate(e, {}, grid, above) - evaluate(e, {}, grid, below)
        slope = actual.get((leaf, False))
        got = 0 if slope is None else evaluate(slope, {}, grid, points)
        np.testing.assert_allclose(got, want / (2 * step), rtol=1e-5, atol=1e-6)


NUMBERS = [(0.75, 2.0), (-1.5, 0.5), (3.0, 3.0), (2.0, -0.25)]


@pytest.mark.parametrize("name", [n for n, op in SCALAR_OPS.items() if op.value])
def test_python_values_are_those_of_numpy(name):
    op = SCALAR_OPS[name]
    for numbers in NUMBERS:
        args = [n > 0 for n in numbers] if op.result == "logic" else list(numbers)
        if name in ("pow", "log"):
            args[0] = abs(args[0])
        arrays = [np.asarray(value) for value in args[: op.arity]]
        with np.errstate(all="ignore"):
            want = np.asarray(op.evaluate(np, *arrays))
        np.testing.assert_allclose(op.value(*args[: op.arity]), want, rtol=1e-15)


def test_python_values_are_total():
    divide, root = SCALAR_OPS["div"].value, SCALAR_OPS["sqrt"].value
    assert divide(1.0, 0) == math.inf and math.isnan(divide(0, 0))
    assert SCALAR_OPS["floordiv"].value(5, 0) == SCALAR_OPS["mod"].value(5, 0) == 0
    assert math.isnan(root(-1.0)) and SCALAR_OPS["floor"].value(math.inf) == math.inf


def test_untaken_branch_has_no_part_in_a_slope():
    x = load(0, (axis(0),), "float64")
    e = select(x > 0, make("sqrt", x), 0.0)
    slope = partials(e, lambda leaf: True)[x, False]
    got = evaluate(slope, {}, [np.arange(2)], [np.array([0.0, 4.0])])
    assert got.tolist() == [0.0, 0.25]

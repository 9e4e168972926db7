"""Reduce kernels: every combine, dtype and layout; NaN, ties, empty runs, accuracy."""

import numpy as np
import pytest

from pellucid_compiler.abi.status import REQUIREMENT_FAILED, status
from pellucid_compiler.codegen.kernel import Kernel, Reduce
from pellucid_compiler.ir.expr import checked, load, make
from tests.compiler.support import RUNNABLE, run_reduce
from tests.compiler.test_map import random_array

REFERENCE = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min,
    "and": np.all, "or": np.any,
}  # fmt: skip


def kernel_of(combine, dtype, accumulator=None):
    accumulator = accumulator or dtype
    outputs = (accumulator,)
    params = ()
    if combine.startswith("arg"):
        outputs, params = (dtype, "int64"), ("int64",)
    form = Reduce(load(0, (), dtype), combine, accumulator)
    return Kernel(form, (dtype,), outputs, params)


def layouts(dtype, rows, columns, seed=0):
    """The same numbers row-major, column-major and strided."""
    x = random_array(dtype, (rows, columns), seed)
    strided = np.zeros((rows, 2 * columns), x.dtype)
    strided[:, ::2] = x
    return x, [x, np.asfortranarray(x), strided[:, ::2]]


SHAPES = [(1, 1), (3, 0), (5, 7), (2, 64), (70, 3), (17, 130), (4, 1000)]


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("combine", ["sum", "prod", "max", "min"])
def test_integers_are_exact(combine, dtype, target):
    for rows, columns in SHAPES:
        if not columns and combine in ("max", "min"):
            continue
        expected, views = layouts(dtype, rows, columns)
        with np.errstate(all="ignore"):
            expected = (
                REFERENCE[combine](expected, axis=1, initial=None)
                if (combine in ("max", "min"))
                else REFERENCE[combine](expected, axis=1, dtype=dtype)
            )
        for x in views:
            (got,) = run_reduce(kernel_of(combine, dtype), x, target=target)
            assert np.array_equal(got, expected)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("combine", ["and", "or", "max", "min"])
def test_bools(combine, target):
    for rows, columns in SHAPES:
        _, views = layouts("bool", rows, columns)
        if combine == "and":
            views = [v | True for v in views] + views
        reference = {"max": np.any, "min": np.all}.get(combine) or REFERENCE[combine]
        for view in views:
            (got,) = run_reduce(kernel_of(combine, "bool"), view, target=target)
            assert np.array_equal(got, reference(view, axis=1))


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_extrema_propagate_nan(dtype, target):
    for rows, columns in SHAPES:
        if not columns:
            continue
        _, views = layouts(dtype, rows, columns)
        for combine in ("max", "min"):
            for view in views:
                view[0, columns // 2] = np.nan
                (got,) = run_reduce(kernel_of(combine, dtype), view, target=target)
                expected = REFERENCE[combine](view, axis=1)
                assert np.array_equal(got, expected, equal_nan=True)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int64", "float32", "float64"]
)
@pytest.mark.parametrize("combine", ["argmax", "argmin"])
def test_the_first_of_equals_and_the_first_nan_win(combine, dtype, target):
    reference = {"argmax": np.argmax, "argmin": np.argmin}[combine]
    for rows, columns in SHAPES:
        if not columns:
            continue
        _, views = layouts(dtype, rows, columns)
        for view in views:
            if dtype.startswith("float"):
                np.round(view / 3, out=view)
                view[0] = -np.inf if combine == "argmax" else np.inf
                view[-1, columns // 3 :: 4] = np.nan
            value, index = run_reduce(
                kernel_of(combine, dtype), view, params=(1000,), target=target
            )
            expected = reference(view, axis=1)
            assert np.array_equal(index, expected + 1000)
            best = np.take_along_axis(view, expected[:, None], 1)[:, 0]
            assert np.array_equal(value, best, equal_nan=dtype.startswith("float"))


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
def test_row_and_element_methods_have_equal_bits(target):
    for rows, columns in SHAPES:
        _, (dense, _, strided) = layouts("float32", rows, columns)
        kernel = kernel_of("sum", "float32")
        (first,) = run_reduce(kernel, dense, target=target)
        (second,) = run_reduce(kernel, strided, target=target)
        assert np.array_equal(first, second)


def sums_in_groups(x):
    """Sums along the rows, with chains of at most 16 additions."""
    while x.shape[1] > 1:
        starts = range(0, x.shape[1], 16)
        x = np.stack([np.cumsum(x[:, k : k + 16], 1)[:, -1] for k in starts], 1)
    return x[:, 0]


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [15, 16, 17, 64, 300, 4096])
def test_sums_of_columns_run_in_groups_of_sixteen(columns, dtype, target):
    x, (_, by_columns, _) = layouts(dtype, 70, columns)
    (got,) = run_reduce(kernel_of("sum", dtype), by_columns, target=target)
    assert np.array_equal(got, sums_in_groups(x))


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("columns", [64, 300, 2048, 4096])
@pytest.mark.parametrize("costly", [False, True])
def test_errors_of_row_sums_are_at_most_those_of_sums_in_groups(
    costly, columns, target
):
    x = np.random.default_rng(2).standard_normal((3000, columns)).astype("float32")
    value = make("cos", load(0, (), "float32")) if costly else load(0, (), "float32")
    kernel = Kernel(Reduce(value, "sum", "float32"), ("float32",), ("float32",))
    terms = np.cos(x) if costly else x
    exact = terms.astype("float64").sum(1)
    allowed = np.abs(sums_in_groups(terms) - exact).mean()
    for view in (x, np.asfortranarray(x)):
        (got,) = run_reduce(kernel, view, target=target)
        assert np.abs(got - exact).mean() < 1.1 * allowed


def test_bodies_are_fused_and_numbers_repeat_along_rows():
    x, mean = load(0, (), "float32"), load(1, (), "float32")
    square = (x - mean) * (x - mean)
    form = Reduce(square, "sum", "float32")
    kernel = Kernel(form, ("float32", "float32"), ("float32",))
    for rows, columns in SHAPES:
        expected, views = layouts("float32", rows, columns)
        means = random_array("float32", (rows, 1), 3)
        exact = ((expected.astype("float64") - means) ** 2).sum(1)
        for view in views:
            (got,) = run_reduce(kernel, view, means)
            np.testing.assert_allclose(got, exact, rtol=2e-6)


def test_halves_and_integers_accumulate_wider():
    x = random_array("float16", (3, 900))
    form = Reduce(make("abs", load(0, (), "float16")), "sum", "float32")
    (got,) = run_reduce(Kernel(form, ("float16",), ("float16",)), x)
    exact = np.abs(x.astype("float64")).sum(1)
    np.testing.assert_allclose(got, exact, rtol=6e-4)
    flags = random_array("bool", (4, 300))
    (count,) = run_reduce(kernel_of("sum", "bool", "int64"), flags)
    assert np.array_equal(count, flags.sum(1))


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("costly", [False, True])
def test_elements_that_are_not_as_checked_are_reported(costly, target):
    x = load(0, (), "float32")
    body = checked(make("exp", x) if costly else x, x >= 0, 0)
    kernel = Kernel(Reduce(body, "sum", "float32"), ("float32",), ("float32",))
    for rows, columns in SHAPES:
        if not columns:
            continue
        for view in layouts("float32", rows, columns)[1]:
            np.abs(view, out=view)
            run_reduce(kernel, view, target=target)
            for place in {(0, 0), (rows // 2, columns - 1), (rows - 1, columns // 2)}:
                held, view[place] = view[place], -1
                failed = status(REQUIREMENT_FAILED, 0)
                run_reduce(kernel, view, target=target, returns=failed)
                view[place] = held

"""Scan kernels: every combine and layout, also reversed; long sums are accurate."""

import numpy as np
import pytest

from pellucid_compiler.codegen.kernel import Kernel, Scan
from pellucid_compiler.ir.expr import load
from tests.compiler.support import RUNNABLE, call
from tests.compiler.test_map import random_array

REFERENCE = {
    "sum": np.cumsum, "prod": np.cumprod, "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
}  # fmt: skip
SHAPES = [(0, 3), (1, 1), (7, 2), (16, 5), (100, 3), (3, 70), (33, 33)]


def kernel_of(combine, dtype):
    accumulator = "float32" if dtype == "float16" else dtype
    return Kernel(Scan(load(0, (), dtype), combine, accumulator), (dtype,), (dtype,))


def run_scan(kernel, x, out, target):
    """Scan axis 0 of arrays of two dimensions."""
    strides = [*out.strides, *x.strides]
    assert call(kernel, [out], [x], x.shape, strides, (), target) == 0
    return out


def layouts(x):
    strided = np.zeros((x.shape[0], 2 * x.shape[1]), x.dtype)
    strided[:, ::2] = x
    return [x, np.asfortranarray(x), strided[:, ::2]]


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("combine", REFERENCE)
def test_scans_in_every_layout(combine, dtype, target):
    for shape in SHAPES:
        x = random_array(dtype, shape)
        if combine == "prod" and dtype.startswith("float"):
            x = (1 + x / 1000).astype(dtype)
        wide = x.astype("float64") if dtype.startswith("float") else x
        with np.errstate(all="ignore"):
            keep = {"dtype": wide.dtype} if combine in ("sum", "prod") else {}
            expected = REFERENCE[combine](wide, axis=0, **keep).astype(dtype)
        tolerance = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-13}.get(dtype, 0)
        for view, out in zip(layouts(x), layouts(np.zeros_like(x)), strict=True):
            got = run_scan(kernel_of(combine, dtype), view, out, target)
            np.testing.assert_allclose(got, expected, tolerance, 10 * tolerance)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_backwards_along_a_dense_axis(dtype, target):
    x = np.asfortranarray(random_array(dtype, (53, 3)))
    want = np.maximum.accumulate(x[::-1], 0)[::-1]
    for turns in (True, False):
        out = np.zeros_like(x, order="F" if turns else "C")
        run_scan(kernel_of("max", dtype), x[::-1], out[::-1], target)
        np.testing.assert_array_equal(out, want)


def test_backwards_by_negative_strides_and_in_place():
    x = random_array("float32", (50, 4))
    expected = np.cumsum(x[::-1].astype("float64"), 0)[::-1]
    run_scan(kernel_of("sum", "float32"), x[::-1], x[::-1], None)
    np.testing.assert_allclose(x, expected, 1e-6, 1e-6)


def test_nan_stays_once_met():
    x = np.array([[3.0, np.nan, 5, 1, 9]] * 7, "float32").T.copy()
    for combine in REFERENCE:
        for view in layouts(x):
            got = run_scan(kernel_of(combine, "float32"), view, np.zeros_like(x), None)
            assert np.isnan(got[1:]).all() and (got[0] == 3).all()


def test_a_million_float32_sum_to_the_last_digits():
    x = random_array("float32", (1 << 20, 1)) ** 2
    got = run_scan(kernel_of("sum", "float32"), x, np.zeros_like(x), None)
    np.testing.assert_allclose(got, np.cumsum(x.astype("float64"), 0), 6.1e-8)

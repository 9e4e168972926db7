"""Rows kernels: softmax, its backward and layer_norm over every width and layout."""

import numpy as np
import pytest

from pellucid_compiler.codegen.kernel import (
    Kernel,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
    RowStore,
)
from pellucid_compiler.ir.expr import cast, load, make, sym
from tests.compiler.support import RUNNABLE, call

WIDTHS = [1, 2, 10, 16, 64, 65, 200, 4097, 9000]


def run_rows(kernel, *inputs, shape, params=(), target=None, transposed=False):
    """Inputs broadcast to ``shape``; an output with a RowStore is a number per row."""
    stored = {p.output for p in kernel.form.passes if isinstance(p, RowStore)}
    inputs = [np.broadcast_to(x, shape) for x in inputs]
    outputs = []
    for k, dtype in enumerate(kernel.outputs):
        if k in stored:
            outputs.append(np.zeros(shape[0], dtype))
        else:
            outputs.append(
                np.zeros(shape[::-1], dtype).T if transposed else np.zeros(shape, dtype)
            )
    strides = []
    for a in [*outputs, *inputs]:
        strides += [a.strides[1] if a.ndim == 2 else 0, a.strides[0]]
    sizes = [shape[1], shape[0]]
    assert call(kernel, outputs, inputs, sizes, strides, params, target) == 0
    return outputs


def softmax(dtype):
    x, wide = load(0, (), dtype), "float32" if dtype == "float16" else dtype
    e = make("exp", cast(x, wide) - sym("r0", wide))
    passes = (
        RowReduce(x, "max", wide),
        RowReduce(e, "sum", wide),
        RowMap(e / sym("r1", wide), 0),
    )
    return Kernel(Rows(passes), (dtype,), (dtype,))


def exact_softmax(x):
    e = np.exp(x.astype("float64") - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_softmax(dtype, target):
    tolerance = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    for width in WIDTHS:
        x = (np.random.default_rng(width).normal(size=(5, width)) * 5).astype(dtype)
        results = []
        for view, transposed in ((x, False), (np.asfortranarray(x), True)):
            (got,) = run_rows(
                softmax(dtype),
                view,
                shape=x.shape,
                target=target,
                transposed=transposed,
            )
            np.testing.assert_allclose(got, exact_softmax(x), tolerance, tolerance / 10)
            results.append(got)
        assert np.array_equal(*results)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
def test_layer_norm_stores_its_statistics(target):
    f32, size, eps = "float32", sym("p0", "float64"), sym("p1", "float64")
    x, gain, bias = (load(k, (), f32) for k in range(3))
    mean = sym("r0", f32) / size
    centered = x - mean
    scale = make("rsqrt", sym("r1", f32) / size + eps)
    passes = (
        RowReduce(x, "sum", f32),
        RowReduce(centered * centered, "sum", f32),
        RowMap(centered * scale * gain + bias, 0),
        RowStore(mean, 1),
        RowStore(scale, 2),
    )
    kernel = Kernel(Rows(passes), (f32,) * 3, (f32,) * 3, ("float64", "float64"))
    for width in WIDTHS[1:]:
        random = np.random.default_rng(width)
        x = (random.normal(size=(4, width)) + 3).astype(f32)
        gain, bias = (random.normal(size=(1, width)).astype(f32) for _ in range(2))
        got, mean, scale = run_rows(
            kernel,
            x,
            gain,
            bias,
            shape=x.shape,
            params=(float(width), 1e-5),
            target=target,
        )
        wide = x.astype("float64")
        expected_mean = wide.mean(1)
        expected_scale = 1 / np.sqrt(wide.var(1) + 1e-5)
        expected = (wide - expected_mean[:, None]) * expected_scale[
            :, None
        ] * gain + bias
        np.testing.assert_allclose(mean, expected_mean, 1e-6)
        np.testing.assert_allclose(scale, expected_scale, 2e-5)
        np.testing.assert_allclose(got, expected, 3e-4, 3e-5)


def test_passes_without_dependence_share_a_sweep_and_maps_stay_in_registers():
    f32 = "float32"
    x = load(0, (), f32)
    passes = (
        RowMap(make("exp", x), 0),
        RowReduce(load(1, (), f32), "sum", f32),
        RowReduce(load(1, (), f32), "max", f32),
        RowMap(load(1, (), f32) / sym("r0", f32), 0),
        RowStore(sym("r1", f32) - sym("r0", f32), 1),
    )
    kernel = Kernel(Rows(passes), (f32,), (f32, f32))
    x = np.random.default_rng(0).normal(size=(3, 77)).astype(f32)
    got, numbers = run_rows(kernel, x, shape=x.shape)
    e = np.exp(x.astype("float64"))
    np.testing.assert_allclose(got, e / e.sum(1, keepdims=True), 1e-6)
    np.testing.assert_allclose(numbers, e.max(1) - e.sum(1), 1e-6)


def test_numbers_per_row_may_be_operands():
    f32 = "float32"
    passes = (
        RowReduce(load(0, (), f32) * load(1, (), f32), "sum", f32),
        RowMap(load(0, (), f32) - sym("r0", f32) * load(1, (), f32), 0),
        RowStore(load(1, (), f32) + sym("r0", f32), 1),
    )
    kernel = Kernel(Rows(passes), (f32, f32), (f32, f32))
    known = Kernel(Rows(passes, per_row=(1,)), (f32, f32), (f32, f32))
    random = np.random.default_rng(0)
    x, per_row = random.normal(size=(6, 50)).astype(f32), random.normal(size=(6, 1))
    per_row = per_row.astype(f32)
    got, numbers = run_rows(kernel, x, per_row, shape=x.shape)
    dot = (x.astype("float64") * per_row).sum(1, keepdims=True)
    np.testing.assert_allclose(got, x - dot * per_row, 1e-5, 1e-5)
    np.testing.assert_allclose(numbers, (per_row + dot)[:, 0], 1e-5, 1e-5)
    for a, b in zip(
        (got, numbers), run_rows(known, x, per_row, shape=x.shape), strict=True
    ):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
def test_rows_add_to_numbers_per_column(target):
    f32 = "float32"
    x = load(0, (), f32)
    passes = (
        RowReduce(x, "sum", f32),
        RowMap(x - sym("r0", f32), 0),
        RowAdd(load(1, (), f32) * x, 1),
    )
    kernel = Kernel(Rows(passes), (f32,), (f32, f32))
    for width in WIDTHS:
        a = np.random.default_rng(width).normal(size=(7, width)).astype(f32)
        for step in (1, 2):
            out, total = np.zeros_like(a), np.zeros(width * step, f32)
            total[::step] = 1  # previous contents remain
            strides = [*out.strides[::-1], 4 * step, 0, *a.strides[::-1]]
            assert call(kernel, [out, total], [a], [width, 7], strides, (), target) == 0
            expected = a - a.sum(1, keepdims=True, dtype="float64")
            np.testing.assert_allclose(out, expected, 1e-5, 1e-4)
            np.testing.assert_allclose(
                total[::step], 1 + (expected * a).sum(0), 1e-5, 1e-3
            )
            assert step == 1 or not total[1::2].any()


def test_one_column_may_have_stride_zero():
    f32 = "float32"
    e = make("exp", load(0, (), f32))
    passes = (RowReduce(e, "sum", f32), RowMap(e / sym("r0", f32), 0))
    kernel = Kernel(Rows(passes), (f32,), (f32,))
    x, out = np.arange(5, dtype=f32), np.zeros(5, f32)
    assert call(kernel, [out], [x], [1, 5], [0, 4, 0, 4]) == 0
    assert np.array_equal(out, np.ones(5))

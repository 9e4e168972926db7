"""Nest kernels: gathers, padded loads, scatters, guards, checks, in vectors or not."""

import numpy as np
import pytest

from pellucid_compiler.abi.status import REQUIREMENT_FAILED
from pellucid_compiler.codegen.kernel import Kernel, Nest, Store
from pellucid_compiler.ir.expr import (
    axis,
    cast,
    checked,
    const,
    load,
    make,
    padded_load,
    select,
    sym,
)
from tests.compiler.support import RUNNABLE, run_nest
from tests.compiler.test_map import random_array

ROW, COL, TAP = axis(0), axis(1), axis(2)
targets = pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)


def views(x):
    """The same numbers row-major, column-major and strided."""
    strided = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    strided[..., ::2] = x
    return [x, np.asfortranarray(x), strided[..., ::2]]


def nest(dtypes, out, rank, ranks, index, value, **options):
    drop = options.pop("drop", False)
    params = options.pop("params", ())
    form = Nest(rank, ranks, (Store(tuple(index), value, drop),), **options)
    return Kernel(form, dtypes, (out,), params)


@targets
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64"])
def test_rows_are_gathered_by_loaded_indices(dtype, target):
    row = load(0, (ROW,), "int64")
    value = load(1, (row, COL), dtype)
    kernel = nest(("int64", dtype), dtype, 2, (2, 1, 2), (ROW, COL), value)
    index = np.array([3, 0, 4, 4, 1])
    for width in (1, 7, 16, 17, 100):
        for table in views(random_array(dtype, (5, width))):
            out = np.zeros((5, width), table.dtype)
            assert (
                run_nest(kernel, out, index, table, extents=out.shape, target=target)
                == 0
            )
            assert np.array_equal(out, table[index])


@targets
def test_an_index_out_of_bounds_is_reported_with_its_place(target):
    row = load(0, (ROW,), "int64")
    value = load(1, (row, COL), "float32")
    kernel = nest(("int64", "float32"), "float32", 2, (2, 1, 2), (ROW, COL), value)
    table = random_array("float32", (5, 40))
    for wrong in (5, -1, 1 << 40):
        index = np.array([0, 1, wrong])
        out = np.zeros((3, 40), "float32")
        status = run_nest(kernel, out, index, table, extents=(3, 40), target=target)
        assert (status >> 48, status & 0xFFFFFFFF) == (1, 80)
        assert np.array_equal(out[:2], table[:2])


@targets
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_padded_loads_read_nothing_outside(dtype, target):
    value = padded_load(0, (ROW - 1, COL - 3), 7, dtype)
    kernel = nest((dtype,), dtype, 2, (2, 2), (ROW, COL), value)
    for width in (1, 5, 30, 64):
        inputs = random_array(dtype, (4, width))
        for x in (*views(inputs), np.broadcast_to(inputs[:, :1], inputs.shape)):
            out = np.zeros((6, width + 5), dtype)
            assert run_nest(kernel, out, x, extents=out.shape, target=target) == 0
            expected = np.pad(x, ((1, 1), (3, 2)), constant_values=7)
            assert np.array_equal(out, expected)


@targets
def test_loads_under_an_untaken_select_are_not_executed(target):
    inside = (sym("p0", "int64") > COL) & (ROW < 3)
    value = select(inside, load(0, (ROW, COL), "float32"), -1.0)
    kernel = nest(
        ("float32",), "float32", 2, (2, 2), (ROW, COL), value, params=("int64",)
    )
    x = random_array("float32", (3, 20))
    out = np.zeros((5, 50), "float32")
    assert run_nest(kernel, out, x, extents=out.shape, params=(20,), target=target) == 0
    expected = np.full((5, 50), -1, "float32")
    expected[:3, :20] = x
    assert np.array_equal(out, expected)
    status = run_nest(kernel, out, x, extents=out.shape, params=(21,), target=target)
    assert status >> 48 == 1 and status & 0xFFFF == 20


@targets
def test_indices_under_a_guard_may_be_loaded(target):
    chosen = load(1, (ROW,), "int64")
    value = select(const(0) <= chosen, load(0, (chosen, COL), "float32"), 0.0)
    kernel = nest(("float32", "int64"), "float32", 2, (2, 2, 1), (ROW, COL), value)
    x, index = random_array("float32", (3, 20)), np.array([2, -5, 0, -1])
    out = np.ones((4, 20), "float32")
    assert run_nest(kernel, out, x, index, extents=out.shape, target=target) == 0
    assert np.array_equal(
        out, np.where(index[:, None] >= 0, x[np.maximum(index, 0)], 0)
    )


@targets
@pytest.mark.parametrize("width", [1, 7, 40, 64, 150])
def test_a_guard_that_outer_loops_know_ends_the_loop(width, target):
    first, end = load(0, (ROW,), "int64"), load(0, (ROW + 1,), "int64")
    term = load(1, (first + TAP,), "float32") * load(2, (first + TAP, COL), "float32")
    value = select(end - first > TAP, term, 0.0)
    ranks, dtypes = (2, 1, 1, 2), ("int64", "float32", "float32")
    kernel = nest(dtypes, "float32", 3, ranks, (ROW, COL), value, combine="sum")
    pointers = np.array([0, 3, 3, 10])
    weights, table = (
        random_array("float32", (10,)),
        random_array("float32", (10, width)),
    )
    out = np.zeros((3, width), "float32")
    extents = (3, width, 1 << 40)  # not to be waited for
    arrays = (pointers, weights, table)
    assert run_nest(kernel, out, *arrays, extents=extents, target=target) == 0
    expected = np.zeros((3, width), "float32")
    for row in range(3):
        for k in range(pointers[row], pointers[row + 1]):
            expected[row] += weights[k] * table[k]
    assert np.array_equal(out, expected)


@targets
@pytest.mark.parametrize(
    ("pointers", "point"), [([0, 3, 10], 5), ([0, -2, 1], 0), ([9, 9, 9], None)]
)
def test_a_range_of_indices_out_of_bounds_is_reported_at_the_first(
    pointers, point, target
):
    first, end = load(0, (ROW,), "int64"), load(0, (ROW + 1,), "int64")
    value = select(end - first > TAP, load(1, (first + TAP, COL), "float32"), 0.0)
    ranks, dtypes = (2, 1, 2), ("int64", "float32")
    kernel = nest(dtypes, "float32", 3, ranks, (ROW, COL), value, combine="sum")
    table = random_array("float32", (8, 40))
    out, longest = np.zeros((2, 40), "float32"), 100
    arguments = (np.array(pointers), table)
    status = run_nest(kernel, out, *arguments, extents=(2, 40, longest), target=target)
    if point is None:
        assert status == 0
        return
    assert (status >> 48, status & 0xFFFFFFFF) == (1, 40 * longest + point)


@targets
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_scatters_combine_in_order(dtype, target):
    row = load(0, (ROW,), "int64")
    index = np.array([1, 0, 1, 1, 2])
    for combine, reference in (
        ("sum", np.add),
        ("max", np.maximum),
        ("prod", np.multiply),
    ):
        kernel = nest(
            ("int64", dtype), dtype, 2, (2, 1, 2), (row, COL),
            load(1, (ROW, COL), dtype), combine=combine,
        )  # fmt: skip
        for x in views(random_array(dtype, (5, 37))):
            out = np.ones((3, 37), dtype)
            expected = out.copy()
            assert run_nest(kernel, out, index, x, extents=x.shape, target=target) == 0
            with np.errstate(all="ignore"):
                for source, place in enumerate(index):
                    expected[place] = reference(expected[place], x[source])
            assert np.array_equal(out, expected)


@targets
def test_stores_out_of_bounds_are_dropped_or_reported(target):
    value = load(0, (ROW,), "float32")
    for width in (3, 40):
        x = random_array("float32", (width,))
        for drop in (True, False):
            kernel = nest(
                ("float32",), "float32", 1, (1, 1), (ROW - 1,), value, drop=drop
            )
            out = np.zeros(width - 1, "float32")
            status = run_nest(kernel, out, x, extents=(width,), target=target)
            assert status >> 48 == (0 if drop else 1)
            if drop:
                assert np.array_equal(out, x[1:])


@targets
def test_windows_transposes_reversals_and_ranges(target):
    window = load(0, (ROW, COL * 2 + TAP), "float32")
    pool = nest(("float32",), "float32", 3, (2, 2), (ROW, COL), window, combine="max")
    x = random_array("float32", (4, 21))
    out = np.full((4, 10), -np.inf, "float32")
    assert run_nest(pool, out, x, extents=(4, 10, 3), target=target) == 0
    expected = np.stack([x[:, k : k + 19 : 2][:, :10] for k in range(3)]).max(0)
    assert np.array_equal(out, expected)

    flip = load(0, (COL, sym("p0", "int64") - ROW), "float32")
    permuted = nest(
        ("float32",), "float32", 2, (2, 2), (ROW, COL), flip, params=("int64",)
    )
    out = np.zeros((21, 4), "float32")
    assert run_nest(permuted, out, x, extents=(21, 4), params=(20,), target=target) == 0
    assert np.array_equal(out, x.T[::-1])
    out[:] = 0
    run_nest(permuted, out, x, extents=(9, 4), begin=5, params=(20,), target=target)
    assert np.array_equal(out[5:9], x.T[::-1][5:9]) and not out[9:].any()


@targets
def test_values_may_use_the_axes_and_mixed_dtypes(target):
    value = cast(ROW * 100 + COL, "float32") + make(
        "sin", cast(load(0, (COL,), "float16"), "float32")
    )
    kernel = nest(("float16",), "float64", 2, (2, 1), (ROW, COL), value)
    x = random_array("float16", (45,))
    out = np.zeros((3, 45))
    assert run_nest(kernel, out, x, extents=out.shape, target=target) == 0
    i, j = np.indices(out.shape)
    expected = (i * 100 + j).astype("float32") + np.sin(x.astype("float64"))
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@targets
def test_empty_extents_and_scalars(target):
    kernel = nest(
        ("float32",), "float32", 2, (2, 1), (ROW, COL), load(0, (ROW,), "float32")
    )
    out = np.zeros((3, 0), "float32")
    assert run_nest(kernel, out, np.zeros(0, "f4"), extents=(3, 0), target=target) == 0
    point = nest(("float32",), "float32", 0, (0, 0), (), load(0, (), "float32") * 2.0)
    out, x = np.zeros((), "float32"), np.array(21, "float32")
    assert run_nest(point, out, x, extents=(), target=target) == 0
    assert out == 42


@targets
def test_several_stores(target):
    x = load(0, (ROW, COL), "float32")
    form = Nest(2, (2, 2), (Store((ROW, COL), x), Store((COL + 3, ROW), -x)), "sum")
    kernel = Kernel(form, ("float32",), ("float32",))
    a = random_array("float32", (3, 20))
    out, expected = np.zeros((25, 25), "float32"), np.zeros((25, 25), "float32")
    assert run_nest(kernel, out, a, extents=a.shape, target=target) == 0
    expected[:3, :20] += a
    expected[3:23, :3] -= a.T
    np.testing.assert_allclose(out, expected)


@targets
def test_inner_sums_stay_in_registers_and_keep_their_order(target):
    """A padded convolution: vectors along the output's columns, sums inside."""
    image, out_channel, y, x, channel, dy, dx = (axis(k) for k in range(7))
    pixel = padded_load(0, (image, channel, y + dy - 1, x + dx - 1), 0, "float32")
    weight = load(1, (out_channel, channel, dy, dx), "float32")
    place = (image, out_channel, y, x)
    kernel = nest(
        ("float32",) * 2, "float32", 7, (4, 4, 4), place, pixel * weight, combine="sum"
    )
    a, w = random_array("float32", (2, 3, 9, 21)), random_array("float32", (4, 3, 3, 3))
    extents = (2, 4, 9, 21, 3, 3, 3)
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = np.zeros((2, 4, 9, 21), "float32")
    for c in range(3):
        for i in range(3):
            for j in range(3):
                part = padded[:, None, c, i : i + 9, j : j + 21]
                expected += part * w[None, :, c, i, j, None, None]
    for view in (a, np.asfortranarray(a)):
        out = np.zeros_like(expected)
        assert run_nest(kernel, out, view, w, extents=extents, target=target) == 0
        assert np.array_equal(out, expected)


@targets
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64", "float64"])
def test_vectors_load_strided_elements(dtype, target):
    """With a step known at run time, in memory or in the index."""
    step, first = sym("p0", "int64"), sym("p1", "int64")
    value = padded_load(0, (ROW, COL * step + first), 7, dtype)
    kernel = nest((dtype,), dtype, 2, (2, 2), (ROW, COL), value, params=("int64",) * 2)
    for width in (1, 6, 16, 45):
        for by, begin in ((1, -1), (2, 0), (2, -3), (3, -2), (-1, width), (0, 0)):
            for x in views(random_array(dtype, (3, width))):
                out = np.zeros((3, 20), dtype)
                options = {"extents": out.shape, "params": (by, begin)}
                assert run_nest(kernel, out, x, **options, target=target) == 0
                places = np.arange(20) * by + begin
                inside = (places >= 0) & (places < width)
                expected = np.where(inside, x[:, np.where(inside, places, 0)], 7)
                assert np.array_equal(out, expected.astype(dtype))


@targets
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64"])
@pytest.mark.parametrize("combine", ["argmax", "argmin"])
def test_windows_give_the_payload_of_their_first_best_element(dtype, combine, target):
    column = COL * 2 + TAP - 1
    low = -np.inf if dtype.startswith("float") else np.iinfo(dtype).min
    high = np.inf if dtype.startswith("float") else np.iinfo(dtype).max
    fill = const(low if combine == "argmax" else high, dtype)
    value = padded_load(0, (ROW, column), fill, dtype)
    payload = make("maximum", column, const(0, "int64")) * 10
    store = Store((ROW, COL), value, payload=payload)
    form = Nest(3, (2, 2), (store,), combine)
    kernel = Kernel(form, (dtype,), ("int64",))
    two = Nest(3, (2, 2, 2), (store,), combine)
    with_values = Kernel(two, (dtype,), ("int64", dtype))
    x = random_array("uint8", (4, 43)).astype(dtype) % 3
    if dtype.startswith("float"):
        x[1, 5:9], x[2, 17], x[3] = np.nan, -np.inf, fill.attr
    padded = np.pad(x, ((0, 0), (1, 1)), constant_values=fill.attr)
    windows = np.stack([padded[:, k : k + 43 : 2] for k in range(3)], -1)
    best = getattr(np, combine)(windows, -1)
    expected = np.maximum(np.arange(22) * 2 - 1 + best, 0) * 10
    values = getattr(np, combine.removeprefix("arg"))(windows, -1)
    for view in views(x):
        out, actual = np.full((4, 22), -1), np.zeros((4, 44), dtype)
        assert run_nest(kernel, out, view, extents=(4, 22, 3), target=target) == 0
        assert np.array_equal(out, expected)
        for held in (actual[:, :22], actual[:, ::2]):
            options = {"extents": (4, 22, 3), "target": target, "best": held}
            assert run_nest(with_values, out, view, **options) == 0
            assert np.array_equal(out, expected)
            assert np.array_equal(held, values, equal_nan=dtype.startswith("float"))


@targets
def test_an_argmax_over_nothing_gives_the_payload_of_its_first_point(target):
    store = Store((ROW,), load(0, (ROW, COL), "float32"), payload=ROW + COL)
    form = Nest(2, (1, 2), (store,), "argmax")
    kernel = Kernel(form, ("float32",), ("int64",))
    out = np.full(3, -1)
    nothing = np.zeros((3, 0), "float32")
    assert run_nest(kernel, out, nothing, extents=(3, 0), target=target) == 0
    assert np.array_equal(out, [0, 1, 2])


@targets
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_vectors_load_elements_whose_places_are_loaded(dtype, target):
    """As an interpolation does: places from a table, weights from another."""
    place = load(1, (COL,), "int64")
    value = padded_load(0, (ROW, place), 7, dtype) * cast(
        load(2, (COL,), "int8"), dtype
    )
    kernel = nest((dtype, "int64", "int8"), dtype, 2, (2, 2, 1, 1), (ROW, COL), value)
    strict = nest(
        (dtype, "int64"), dtype, 2, (2, 2, 1), (ROW, COL), load(0, (ROW, place), dtype)
    )
    places = np.random.default_rng(0).integers(-2, 25, 37)
    weights = np.random.default_rng(1).integers(0, 2, 37).astype("int8")
    inside = (places >= 0) & (places < 23)
    safe = np.where(inside, places, 0)
    for x in views(random_array(dtype, (3, 23)) % 5):
        out = np.zeros((3, 37), dtype)
        arguments = (x, places, weights)
        assert run_nest(kernel, out, *arguments, extents=out.shape, target=target) == 0
        expected = np.where(inside, x[:, safe], 7) * weights
        assert np.array_equal(out, expected.astype(dtype))
        assert run_nest(strict, out, x, safe, extents=out.shape, target=target) == 0
        assert np.array_equal(out, x[:, safe])
        status = run_nest(strict, out, x, places, extents=out.shape, target=target)
        assert status >> 48 == 1 and status & 0xFFFF == np.flatnonzero(~inside)[0]


@targets
@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("combine", ["sum", "max", "min", "prod"])
def test_sums_begin_by_themselves_in_any_layout(combine, dtype, target):
    """Windows of channels-last and other images, into uninitialised memory."""
    image, channel, place, tap = (axis(k) for k in range(4))
    value = load(0, (image, channel, place * 2 + tap), dtype)
    store = Store((image, channel, place), value)
    options = {"channels_last_order": (0, 2, 1, 3), "begins": True}
    kernel = Kernel(Nest(4, (3, 3), (store,), combine, **options), (dtype,), (dtype,))
    reference = {"sum": np.add, "max": np.maximum, "min": np.minimum}
    step = reference.get(combine, np.multiply)
    for channels in (1, 9, 40, 64, 130):
        x = random_array("uint8", (2, channels, 11)).astype(dtype) % 5
        windows = [x[..., k : k + 9 : 2] for k in range(3)]
        expected = step(step(windows[0], windows[1]), windows[2])
        for turns in (False, True):
            out = np.full(expected.shape, 77, dtype)
            inputs = x
            if turns:
                out, inputs = (
                    np.ascontiguousarray(a.transpose(0, 2, 1)).transpose(0, 2, 1)
                    for a in (out, x)
                )
            extents = (*out.shape, 3)
            assert run_nest(kernel, out, inputs, extents=extents, target=target) == 0
            assert np.array_equal(out, expected)


@targets
def test_a_sum_of_no_terms_begins_too(target):
    store = Store((ROW,), load(0, (ROW, COL), "float32"))
    form = Nest(2, (1, 2), (store,), "max", begins=True)
    kernel = Kernel(form, ("float32",), ("float32",))
    out, nothing = np.ones(3, "float32"), np.zeros((3, 0), "float32")
    assert run_nest(kernel, out, nothing, extents=(3, 0), target=target) == 0
    assert np.array_equal(out, np.full(3, -np.inf))


@targets
def test_elements_that_are_not_as_checked_are_reported(target):
    row = load(0, (ROW,), "int64")
    x = load(1, (row, COL), "float32")
    value = select(COL < 30, checked(x, x >= 0, 2), x)
    kernel = nest(("int64", "float32"), "float32", 2, (2, 1, 2), (ROW, COL), value)
    index = np.array([3, 0, 4, 4, 1])
    table = np.abs(random_array("float32", (5, 40)))
    failed = REQUIREMENT_FAILED << 48 | 2
    for place, actual in (
        ((1, 29), failed),
        ((2, 3), 0),
        ((1, 30), 0),
        ((0, 0), failed),
    ):
        inputs = table.copy()
        inputs[place] = -1
        out = np.zeros((5, 40), "float32")
        returned = run_nest(
            kernel, out, index, inputs, extents=out.shape, target=target
        )
        assert returned == actual, place

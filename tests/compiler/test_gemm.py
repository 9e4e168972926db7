"""Matrix-product kernels against NumPy's float64, in every layout and odd size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pellucid_compiler.codegen.schedules.gemm import MIN_COLUMNS, MIN_ROWS
from pellucid_compiler.codegen.targets.x86 import host_product_targets
from tests.compiler.gemm_call import call_gemm
from tests.compiler.support import RUNNABLE

LEVELS = [target.name for target in RUNNABLE]
BFLOAT16_LEVELS = [
    *LEVELS,
    *(t.name for t in host_product_targets() if t.has_bfloat16_dots),
]
BFLOAT16_SIZES = [
    *((1, 1, 5), (1, 70, 4100), (4, 40, 17), (13, 1, 64)),
    *((30, 33, 801), (260, 20, 30), (5, 531, 32)),
]

SIZES = [
    *itertools.product([1, 2, 4, 5, 13], [1, 3, 40], [1, 4, 33]),
    (8, 64, 64),
    (64, 10, 64),
    (29, 33, 65),
    (64, 64, 10),
    (15, 130, 37),
    (100, 200, 37),
    (3, 70, 1100),
    (1, 1, 9001),
    (130, 1, 130),
    (30, 531, 401),
    (43, 300, 800),
]
LAYOUTS = ["row", "column", "padded", "scattered", "reversed"]
PAIRS = list(itertools.product(LAYOUTS, LAYOUTS))


def with_layout(values: np.ndarray, layout: str) -> np.ndarray:
    """The same matrix in another layout."""
    rows, columns = values.shape
    if layout == "row":
        return np.ascontiguousarray(values)
    if layout == "column":
        return np.asfortranarray(values)
    if layout == "padded":
        result = np.full((rows, columns + 3), 7, values.dtype)[:, :columns]
    elif layout == "scattered":
        result = np.full((2 * rows, 3 * columns), 7, values.dtype)[::2, ::3]
    else:
        result = np.empty_like(values)[::-1, ::-1]
    result[...] = values
    return result


def random_matrices(
    m: int, n: int, k: int, dtype: str, layouts: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(m * 1000 + n * 10 + k)
    a, b = random.standard_normal((m, k)), random.standard_normal((k, n))
    if not dtype.startswith("float"):
        a, b = a * 1e6, b * 1e6
    a, b = a.astype(dtype), b.astype(dtype)
    return with_layout(a, layouts[0]), with_layout(b, layouts[1])


def empty_c(m: int, n: int, dtype: str) -> np.ndarray:
    """A C in guarded memory, filled with values that must not be read."""
    bad = np.nan if dtype.startswith("float") else 12345
    return np.full((m + 2, n + 7), bad, dtype)[1:-1, 3:-4]


def error_bound(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The classical bound of a sum of k rounded products, blocked: see Higham 3.5."""
    unit = np.finfo(a.dtype).eps / 2
    sizes = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    return (8 + a.shape[1]) * unit * sizes


def assert_product(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    if not np.issubdtype(c.dtype, np.floating):
        np.testing.assert_array_equal(c, a @ b)
        return
    wide = np.longdouble if c.dtype == np.float64 else np.float64
    error = np.abs(c - a.astype(wide) @ b.astype(wide))
    assert np.all(error <= error_bound(a, b)), error.max()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layouts", PAIRS)
def test_every_layout_and_size(level: str, layouts: tuple[str, str]) -> None:
    for m, n, k in SIZES:
        a, b = random_matrices(m, n, k, "float32", layouts)
        c = empty_c(m, n, "float32")
        call_gemm(level, c, a, b)
        assert_product(c, a, b)
        assert np.isnan(c.base).sum() == c.base.size - c.size, "wrote outside C"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["float64", "int32", "int64"])
def test_other_dtypes(level: str, dtype: str) -> None:
    for (m, n, k), layouts in zip(SIZES, itertools.cycle(PAIRS)):
        a, b = random_matrices(m, n, k, dtype, layouts)
        c = empty_c(m, n, dtype)
        with np.errstate(over="ignore"):
            call_gemm(level, c, a, b)
            assert_product(c, a, b)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["float16", "int8", "int16", "uint8"])
def test_narrow_dtypes_are_rounded_once(level: str, dtype: str) -> None:
    random = np.random.default_rng(0)
    for (m, n, k), layouts in zip(
        [*SIZES, (300, 9, 20), (3, 4, 0)], itertools.cycle(PAIRS), strict=False
    ):
        a, b, bias = (
            random.standard_normal(shape) * (1 if dtype == "float16" else 50)
            for shape in [(m, k), (k, n), (1, n)]
        )
        a, b, bias = (as_dtype(x, dtype) for x in (a, b, bias))
        a, b = with_layout(a, layouts[0]), with_layout(b, layouts[1])
        c = np.zeros((m, n), dtype)
        call_gemm(level, c, a, b, bias)
        if dtype == "float16":
            wide = [x.astype(np.float32) for x in (a, b, bias)]
            exact = wide[0].astype(np.float64) @ wide[1] + bias
            bound = error_bound(wide[0], wide[1]) + np.abs(exact) * 2.0**-11
            assert np.all(np.abs(c - exact) <= bound * 1.01 + 2.0**-24)
        else:
            exact = a.astype(np.int64) @ b.astype(np.int64) + bias
            np.testing.assert_array_equal(c, exact.astype(dtype))


def as_dtype(values: np.ndarray, dtype: str) -> np.ndarray:
    """Converted; negative numbers wrap in unsigned dtypes."""
    return values.astype(dtype if dtype == "float16" else np.int64).astype(dtype)


@pytest.mark.parametrize("level", BFLOAT16_LEVELS)
@pytest.mark.parametrize("layouts", PAIRS, ids="-".join)
def test_bfloat16_is_the_rounded_float32_product(
    level: str, layouts: tuple[str, str]
) -> None:
    """Also for a k that ends within a word; nothing is written outside of C."""
    for m, n, k in BFLOAT16_SIZES:
        a, b = random_matrices(m, n, k, "float32", ("row", "row"))
        a, b = ((x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b))
        bias = np.arange(n, dtype=np.float32).view(np.uint32) >> 16
        c = np.full((m, n + 5), 0x4711, np.uint16)
        arguments = (
            with_layout(x, layout) for x, layout in zip((a, b), layouts, strict=True)
        )
        call_gemm(level, c[:, :n], *arguments, bias.astype(np.uint16), "bfloat16")
        assert (c[:, n:] == 0x4711).all()
        a, b, result, bias = (
            (np.ascontiguousarray(x).astype(np.uint32) << 16).view(np.float32)
            for x in (a, b, c[:, :n], bias)
        )
        exact = a.astype(np.float64) @ b.astype(np.float64) + bias
        bound = error_bound(a, b) + np.abs(exact) * 2.0**-8
        assert np.all(np.abs(result - exact) <= bound)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(1, 0), (0, 1), (1, 1), (0, 0)])
def test_bias_of_every_broadcast(level: str, shape: tuple[int, int]) -> None:
    """``shape`` has a 0 where the bias has C's extent."""
    for m, n, k in [*SIZES, (3, 5, 0), (1, 20, 0), (20, 1, 0)]:
        a, b = random_matrices(m, n, k, "float32", ("row", "column"))
        extents = [one or whole for one, whole in zip(shape, (m, n), strict=True)]
        bias = np.random.default_rng(0).standard_normal(extents).astype(np.float32)
        plain, biased = empty_c(m, n, "float32"), empty_c(m, n, "float32")
        call_gemm(level, plain, a, b)
        call_gemm(level, biased, a, b, bias)
        np.testing.assert_array_equal(biased, plain + bias)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "dtype,bound", [("float32", 1e-5), ("float64", 1e-13), ("int32", 0)]
)
def test_a_product_is_added_to_what_c_holds(
    level: str, dtype: str, bound: float
) -> None:
    for (m, n, k), layouts in zip(SIZES, itertools.cycle(PAIRS)):
        a, b = random_matrices(m, n, k, dtype, layouts)
        c, product = empty_c(m, n, dtype), empty_c(m, n, dtype)
        with np.errstate(over="ignore"):
            call_gemm(level, product, a, b)
            c[...] = product[::-1]
            call_gemm(level, c, a, b, accumulate=True)
            want = product[::-1] + product
        scale = np.abs(product).max() if bound else 0
        np.testing.assert_allclose(c, want, rtol=bound, atol=bound * scale)


@pytest.mark.parametrize("level", LEVELS)
def test_no_products_give_zeros(level: str) -> None:
    for m, n in [(1, 1), (1, 40), (40, 1), (20, 40), (200, 200)]:
        c = empty_c(m, n, "float32")
        call_gemm(level, c, np.ones((m, 0), np.float32), np.ones((0, n), np.float32))
        np.testing.assert_array_equal(c, 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_reach_their_row_and_column(level: str, bad: float) -> None:
    for (m, n, k), layout in itertools.product(
        SIZES, [("row", "row"), ("row", "column")]
    ):
        a, b = random_matrices(m, n, k, "float32", layout)
        a[m // 2, k // 2] = bad
        c = empty_c(m, n, "float32")
        call_gemm(level, c, a, b)
        assert np.array_equal(np.isfinite(c), np.arange(m)[:, None] != [m // 2] * n)
        zeros = np.zeros_like(b)
        call_gemm(level, c, a, zeros)
        assert np.isnan(c[m // 2]).all(), "0 * inf is NaN"
        assert not np.delete(c, m // 2, axis=0).any()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "layouts", list(itertools.product(["row", "column"], repeat=2))
)
def test_any_split_of_c_gives_the_same_bits(
    level: str, layouts: tuple[str, str]
) -> None:
    random = np.random.default_rng(0)
    for m, n, k in [(40, 70, 33), (61, 300, 801), (97, 33, 300), (5, 200, 1000)]:
        a, b = random_matrices(m, n, k, "float32", layouts)
        whole, pieces = empty_c(m, n, "float32"), empty_c(m, n, "float32")
        call_gemm(level, whole, a, b)
        row = random.integers(MIN_ROWS, m - MIN_ROWS) if m >= 2 * MIN_ROWS + 1 else m
        column = random.integers(MIN_COLUMNS, n - MIN_COLUMNS)
        for rows in (slice(0, row), slice(row, m)):
            for columns in (slice(0, column), slice(column, n)):
                if rows.start < m:
                    call_gemm(level, pieces[rows, columns], a[rows], b[:, columns])
        np.testing.assert_array_equal(pieces, whole)


@pytest.mark.parametrize("level", LEVELS)
def test_columns_of_few_rows_split_with_the_same_bits(level: str) -> None:
    for m in range(1, MIN_ROWS):
        a, b = random_matrices(m, 37, 100, "float32", ("row", "column"))
        whole, pieces = empty_c(m, 37, "float32"), empty_c(m, 37, "float32")
        call_gemm(level, whole, a, b)
        for columns in (slice(0, 5), slice(5, 8), slice(8, 35), slice(35, 37)):
            call_gemm(level, pieces[:, columns], a, b[:, columns])
        np.testing.assert_array_equal(pieces, whole)


@pytest.mark.parametrize("level", LEVELS)
def test_long_sums_stay_accurate(level: str) -> None:
    """Blocks of k keep the error far below that of one running sum."""
    k = 200_000
    for m, n, layouts in [(1, 1, "rr"), (2, 3, "rc"), (6, 3, "rr"), (6, 3, "cc")]:
        names = {"r": "row", "c": "column"}
        layout = (names[layouts[0]], names[layouts[1]])
        a, b = random_matrices(m, n, k, "float32", layout)
        c = empty_c(m, n, "float32")
        call_gemm(level, c, a, b)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        assert np.abs(c - exact).max() < 2e-6 * np.sqrt(k)

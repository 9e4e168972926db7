"""Sorting and selecting long rows: stable, NaN last, the same at any thread count."""

import numpy as np
import pytest

import pellucid

LENGTH = 200_003


def row(dtype):
    random = np.random.default_rng(0)
    values = (random.normal(size=LENGTH) * 50).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        values[[5, 77_000]] = np.nan
        values[[6, 9]] = 0.0, -0.0
        values[[7, 8]] = np.inf, -np.inf
    return values


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.int64, np.int16, np.uint8]
)
def test_long_rows_sort_stably(dtype, threads):
    values = row(dtype)
    before = pellucid.get_num_threads()
    pellucid.set_num_threads(threads)
    try:
        up = pellucid.sort(pellucid.from_numpy(values), stable=True)
        down = pellucid.sort(pellucid.from_numpy(values), stable=True, descending=True)
    finally:
        pellucid.set_num_threads(before)
    want = np.argsort(values, kind="stable")
    assert np.array_equal(up.indices.numpy(), want)
    want = LENGTH - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    assert np.array_equal(down.indices.numpy(), want)


@pytest.mark.parametrize("spread", [0, 1, 10, 31, 33, 62])
@pytest.mark.parametrize("first_bit", [0, 1])
def test_long_rows_of_keys_that_differ_in_few_bits(spread, first_bit):
    random = np.random.default_rng(1)
    values = random.integers(0, 2**spread, LENGTH) << first_bit
    for signed in (values, values - 3, values - 2**spread):
        actual = pellucid.sort(pellucid.from_numpy(signed), stable=True)
        assert np.array_equal(actual.indices.numpy(), signed.argsort(kind="stable"))
        assert np.array_equal(actual.values.numpy(), np.sort(signed))


@pytest.mark.parametrize("count", [1, 10, 300, LENGTH // 2])
@pytest.mark.parametrize("largest", [True, False])
def test_the_top_of_a_row_is_the_sorted_rows_beginning(count, largest):
    values = pellucid.from_numpy(row(np.float32))
    top = pellucid.topk(values, count, largest=largest)
    want = pellucid.sort(values, descending=largest).values[:count]
    assert np.array_equal(top.values.numpy(), want.numpy(), equal_nan=True)
    assert np.array_equal(
        values[top.indices].numpy(), top.values.numpy(), equal_nan=True
    )


DTYPES = (np.float32, np.float64, np.int64, np.int32, np.int16, np.uint8, np.int8)


# Up to 64 elements are ordered by comparing all pairs, unless wide keys differ in few
# digits; above 1024 a digit is counted.
@pytest.mark.parametrize("length", [1, 2, 33, 41, 64, 65, 128, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_length_are_ordered_and_selected_alike(dtype, length):
    values = np.stack([np.roll(row(dtype), -k)[:length] for k in range(0, 9, 3)])
    x = pellucid.from_numpy(values)
    up = np.argsort(values, -1, kind="stable")
    down = length - 1 - np.argsort(values[:, ::-1], -1, kind="stable")[:, ::-1]
    assert np.array_equal(x.argsort(stable=True).numpy(), up)
    assert np.array_equal(x.argsort(stable=True, descending=True).numpy(), down)
    for k in sorted({1, (length + 1) // 2, length}):
        assert np.array_equal(x.topk(k).indices.numpy(), down[:, :k])
        assert np.array_equal(x.topk(k, largest=False).indices.numpy(), up[:, :k])
        assert np.array_equal(x.kthvalue(k).indices.numpy(), up[:, k - 1])
    spoiled = np.isnan(values.astype("f8")).any(1)
    middle = np.where(spoiled, up[:, -1], up[:, (length - 1) // 2])
    assert np.array_equal(x.median(1).indices.numpy(), middle)


@pytest.mark.parametrize("length", [40, 41, 64])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_wide_keys_that_differ_in_few_digits(dtype, length):
    values = np.random.default_rng(0).integers(0, 50, (3, length)).astype(dtype)
    x = pellucid.from_numpy(values)
    up = np.argsort(values, -1, kind="stable")
    assert np.array_equal(x.argsort(stable=True).numpy(), up)


def test_unique_gives_what_is_requested():
    values = pellucid.tensor([3, 1, 3, 2])
    assert values.unique().tolist() == [1, 2, 3]
    actual, inverse = values.unique(return_inverse=True)
    assert (actual.tolist(), inverse.tolist()) == ([1, 2, 3], [2, 0, 2, 1])
    actual, counts = values.unique(return_counts=True)
    assert (actual.tolist(), counts.tolist()) == ([1, 2, 3], [1, 1, 2])

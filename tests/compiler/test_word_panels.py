"""Panels of bfloat16 words: which elements of a column are in which word."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid_compiler.abi.parts import PART
from pellucid_compiler.codegen.targets.x86 import host_product_targets
from tests.compiler.gemm_call import gemm_kernel

LANES = 16
LEVELS = [t.name for t in host_product_targets() if t.has_bfloat16_dots]
SOURCE = np.random.default_rng(0).integers(1, 1 << 16, 1000).astype(np.uint16)
COLUMNS = np.arange(LANES) * 5  # elements


def run_part(level, part, data, sizes):
    pointers = np.array([x.ctypes.data for x in data], np.uint64)
    numbers = np.array([*sizes, *[0] * 4])
    params = np.array([0, 0, PART[part]])
    arrays = pointers, numbers, np.zeros(8, np.int64), params
    kernel = gemm_kernel(level, "bfloat16")
    assert kernel(*(x.ctypes.data for x in arrays)) == 0


def words_at(places):
    """``places[k, lane]`` as the words of a panel; a k that is missing is zero."""
    bits = SOURCE[places].astype(np.uint32)
    bits = np.concatenate([bits, np.zeros((len(bits) % 2, LANES), np.uint32)])
    return bits[::2] | bits[1::2] << 16


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("k", [1, 2, 5, 96])
def test_contiguous_columns(level, k):
    offsets = np.random.default_rng(k).integers(0, 900, k)
    words = words_at(offsets[:, None] + np.arange(LANES))
    lanes = np.arange(LANES)
    for first, end in ((0, LANES), (0, 1), (3, 12)):
        target = np.full_like(words, 7)
        sizes = k, first, end, 4 * LANES
        run_part(level, "pack_columns", [target, SOURCE, 2 * offsets], sizes)
        inside = (first <= lanes) & (lanes < end)
        want = np.where(inside, words, 0 if first == 0 else 7)
        np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("last", range(1, 18))
def test_runs_of_k_of_which_the_last_is_odd(level, last):
    runs = [(4, 2), (100, 16), (50, last)]
    places = [start + i for start, length in runs for i in range(length)]
    want = words_at(np.array(places)[:, None] + COLUMNS)
    target = np.zeros_like(want)
    pairs = np.array([(2 * start, length) for start, length in runs])
    data = [target, SOURCE, 2 * COLUMNS, pairs]
    run_part(level, "pack_depth", data, [len(runs), 4 * LANES])
    np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("k", [1, 2, 7])
def test_places_of_every_k(level, k):
    places = np.random.default_rng(k).integers(0, 900, k)
    want = words_at(places[:, None] + COLUMNS)
    target = np.zeros_like(want)
    data = [target, SOURCE, 2 * COLUMNS, 2 * places]
    run_part(level, "pack_places", data, [k, 4 * LANES])
    np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("k", [1, 8, 13, 67])
@pytest.mark.parametrize("n", [1, 16, 45])
def test_matrices(level, k, n):
    """Both contiguous along k and along columns."""
    for steps in ((1, 70), (60, 1), (3, 7)):
        row, column = steps
        places = (np.arange(k) * row)[:, None] + np.arange(n) * column
        source = np.random.default_rng(0).integers(1, 1 << 16, 9000).astype(np.uint16)
        bits = source[places].astype(np.uint32)
        bits = np.concatenate([bits, np.zeros((k % 2, n), np.uint32)])
        words = bits[::2] | bits[1::2] << 16
        shape = -(-n // 32), len(words), 32
        memory = np.zeros(4 * np.prod(shape) + 64, np.uint8)  # panels are aligned
        aligned = memory[-memory.ctypes.data % 64 :][: 4 * np.prod(shape)]
        target = aligned.view(np.uint32).reshape(shape)
        pointers = np.array([target.ctypes.data, source.ctypes.data], np.uint64)
        sizes, strides = np.array([k, n, 2, 0]), np.array([2 * row, 2 * column])
        params = np.array([0, 0, PART["pack_matrix"]])
        kernel = gemm_kernel(level, "bfloat16")
        arrays = pointers, sizes, strides, params
        assert kernel(*(x.ctypes.data for x in arrays)) == 0
        result = target.transpose(1, 0, 2).reshape(len(words), -1)[:, :n]
        np.testing.assert_array_equal(result, words)

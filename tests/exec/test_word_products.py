"""``_int_mm``: exact sums of every layout, at any number of threads, at every level."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import pellucid as torch

LAYOUTS = ("rows", "columns", "gaps")
SIZES = [
    *itertools.product((1, 2, 14), (0, 1, 4, 33), (1, 3, 70)),
    *((40, 64, 3), (20, 130, 300), (1, 900, 70), (300, 301, 1), (130, 520, 260)),
    (3, 402, 1500),  # B is interleaved in blocks of columns
]
LEVELS = ("x86-64-v3", "x86-64-v4", "x86-64-v4-dot", "x86-64-v4-bf16")

SCRIPT = """
import numpy as np, pellucid as torch
assert "{level}".startswith(torch._C._isa_level())
random = np.random.default_rng(0)
for m, k, n in ((1, 8, 40), (70, 36, 20), (3, 5, 2), (5, 2, 1)):
    a, b = (random.integers(-128, 128, s, np.int8) for s in ((m, k), (k, n)))
    made = torch._int_mm(torch.from_numpy(a), torch.from_numpy(b))
    assert made.tolist() == (a.astype("i4") @ b.astype("i4")).tolist(), (m, k, n)
"""


def matrices(m, k, n):
    random = np.random.default_rng(m * 100 + k * 10 + n)
    return (random.integers(-128, 128, s, np.int8) for s in ((m, k), (k, n)))


def with_layout(values, layout):
    if layout == "rows":
        return torch.tensor(values)
    if layout == "columns":
        return torch.tensor(values.T.copy()).t()
    rows, columns = values.shape
    result = torch.zeros(2 * rows, 3 * columns, dtype=torch.int8)[::2, ::3]
    return result.copy_(torch.tensor(values))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sums_of_every_layout_are_exact(size):
    a, b = matrices(*size)
    want = a.astype(np.int32) @ b.astype(np.int32)
    for first, second in itertools.product(LAYOUTS, LAYOUTS):
        x, y = with_layout(a, first), with_layout(b, second)
        result = torch._int_mm(x, y)
        assert result.dtype == torch.int32
        np.testing.assert_array_equal(result.numpy(), want)
        for out in (torch.empty(want.shape, dtype=torch.int32), transposed(want)):
            torch._int_mm(x, y, out=out)
            np.testing.assert_array_equal(out.numpy(), want)


def test_a_block_of_one_column_keeps_the_batch_apart():
    random = np.random.default_rng(0)
    k, most = 4096, 64  # the columns of a block for this depth
    for n in (most, most + 1):
        a, b = (
            random.integers(-128, 128, size, np.int8) for size in ((2, 3, k), (2, k, n))
        )
        result = torch.vmap(torch._int_mm)(torch.tensor(a), torch.tensor(b))
        want = a.astype(np.int32) @ b.astype(np.int32)
        np.testing.assert_array_equal(result.numpy(), want)


def transposed(like):
    return torch.empty(like.shape[::-1], dtype=torch.int32).t()


def test_sums_wrap():
    x = torch.full((1, 1 << 18), -128, dtype=torch.int8)
    assert torch._int_mm(x, x.t()).item() == -(1 << 32) + (1 << 32)
    assert torch._int_mm(x[:, 1:], x.t()[1:]).item() == -(1 << 14)


def test_any_number_of_threads_gives_the_same():
    a, b = matrices(150, 260, 200)
    x, y = torch.tensor(a), torch.tensor(b)
    before = torch.get_num_threads()
    try:
        result = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            result.append(torch._int_mm(x, y))
    finally:
        torch.set_num_threads(before)
    assert result[0].equal(result[1]) and result[0].equal(result[2])


def test_the_first_factor_may_be_unsigned():
    a, b = matrices(3, 7, 4)
    unsigned = a.view(np.uint8)
    result = torch._int_mm(torch.tensor(unsigned), torch.tensor(b))
    want = unsigned.astype(np.int32) @ b.astype(np.int32)
    np.testing.assert_array_equal(result.numpy(), want)


@pytest.mark.parametrize(
    ("self", "mat2", "message"),
    [
        ((2, 3), (2, 3), "needs to match mat2.size"),
        ((3,), (3, 2), "Expected self to be of dimension 2 but got 1"),
        ((2, 3), (3,), "Expected mat2 to be of dimension 2 but got 1"),
    ],
)
def test_shapes_that_do_not_fit_are_named(self, mat2, message):
    x, y = (torch.ones(size, dtype=torch.int8) for size in (self, mat2))
    with pytest.raises(RuntimeError, match=message):
        torch._int_mm(x, y)


def test_dtypes_that_do_not_fit_are_named():
    x = torch.ones(2, 2, dtype=torch.int8)
    with pytest.raises(RuntimeError, match="self dtype to be int8 or uint8 but got"):
        torch._int_mm(x.float(), x)
    with pytest.raises(RuntimeError, match="mat2 dtype to be of type int8 but got"):
        torch._int_mm(x, x.to(torch.uint8))


def test_a_level_is_forced_by_the_environment():
    refused = run("pass", "x86-64-v9")
    assert "PELLUCID_ISA is x86-64-v9; this processor has the levels x86-64-v3" in (
        refused.stderr
    )
    known = refused.stderr.split("the levels ")[1].strip().split(", ")
    assert known == list(LEVELS[: len(known)])
    for level in known:
        done = run(SCRIPT.format(level=level), level)
        assert done.returncode == 0, (level, done.stderr)


def run(script, level):
    environment = {**os.environ, "PELLUCID_ISA": level}
    return subprocess.run(
        [sys.executable, "-c", "import pellucid\n" + script],
        env=environment,
        capture_output=True,
        text=True,
    )

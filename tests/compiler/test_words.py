"""Products of words, int8 factors of int32 sums, at every level that runs here."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from pellucid_compiler.abi.parts import DESCRIBED, PART
from pellucid_compiler.codegen.targets.x86 import host_product_targets, target_named
from pellucid_compiler.lower.contraction import word_kernels
from pellucid_compiler.pack.generate import compile_kernel
from pellucid_compiler.pack.jit import Executable
from tests.compiler.gemm_call import workspace
from tests.compiler.support import RUNNABLE

LEVELS = [target.name for target in (*RUNNABLE, *host_product_targets())]
SIZES = [
    *((1, 1, 1), (1, 50, 16), (3, 50, 17), (13, 1, 40), (5, 33, 32)),
    *((40, 100, 64), (30, 600, 210), (100, 37, 3)),
]


@pytest.fixture(params=LEVELS, scope="module")
def kernel(request):
    (kernel,) = word_kernels().values()
    blob = compile_kernel(kernel, target_named(request.param))
    function = Executable(blob).function(ctypes.c_int64, *[ctypes.c_void_p] * 4)
    return lambda *arrays: function(*(a.ctypes.data for a in arrays))


def offset_of(kernel) -> int:
    fields = np.zeros(len(DESCRIBED), np.int64)
    to, part = (
        np.array([fields.ctypes.data], np.uint64),
        np.array([0, 0, PART["describe"]]),
    )
    assert kernel(to, to, to, part) == 0
    return int(fields[DESCRIBED.index("offset")])


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sums_are_exact(kernel, size):
    """Also if every product has the greatest magnitude, and if rows of A end at memory
    that must not be read."""
    m, n, words = size
    random = np.random.default_rng(m + n + words)
    for extreme in (False, True):
        a, b = (random.integers(-128, 128, (x, 4 * words), np.int8) for x in (m, n))
        if extreme:
            a[:], b[:] = -128, -128
        c = np.full((m, n + 3), 12345, np.int32)
        low = a.astype(np.int32).sum(1, dtype=np.int32)
        bias = low * np.int32(-offset_of(kernel))
        pointers = [x.ctypes.data for x in (c, a, b, bias)]
        strides = [*c.strides, a.strides[0], 4, 4, b.strides[0], 4, 0]
        kernel(
            np.array(pointers, np.uint64),
            np.array([m, n, words]),
            np.array(strides),
            np.array([workspace(), 0, 0], np.uint64),
        )
        np.testing.assert_array_equal(c[:, :n], a.astype(np.int32) @ b.T.astype("i4"))
        assert (c[:, n:] == 12345).all()

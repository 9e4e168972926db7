"""Floats of 8 bits: four implementations of their rounding, and PyTorch's bits.

The checksums are of PyTorch 2.13's conversions of every float16, every bfloat16,
float32 of every upper half, the numbers of its codes (all NaNs alike), and integers.
"""

import zlib

import numpy as np
import pytest

import pellucid as torch
from pellucid_compiler.ir.float8 import (
    FLOAT8,
    code_of,
    numbers,
    round_array,
    round_number,
)

CHECKSUMS = {
    "float8_e4m3fn": (1348970412, 3033165624, 1750444310, 803137964, 3030407612),
    "float8_e4m3fnuz": (1386145094, 319238559, 2882217077, 4074741842, 1521991288),
    "float8_e5m2": (718550330, 2870081587, 1359808235, 1032060177, 3657375501),
    "float8_e5m2fnuz": (893203300, 4116690748, 2177972773, 164039556, 596265403),
    "float8_e8m0fnu": (905203682, 261188960, 3647231750, 1905883578, 841587451),
}
CODES = np.arange(65536, dtype=np.uint32)
WIDE = (CODES << 16 | 0x5555).view(np.float32)


def checksum(tensor):
    return zlib.crc32(tensor.contiguous().view(torch.uint8).numpy().tobytes())


@pytest.mark.parametrize("dtype", FLOAT8)
def test_conversions_give_pytorchs_bits(dtype):
    narrow = getattr(torch, dtype)
    halves = torch.from_numpy(CODES.astype(np.uint16).view(np.int16))
    codes = torch.arange(256).to(torch.uint8).view(narrow)
    back = codes.float()
    actual = (
        halves.view(torch.float16).to(narrow),
        halves.view(torch.bfloat16).to(narrow),
        torch.from_numpy(WIDE).to(narrow),
        torch.where(back.isnan(), torch.tensor(float("nan")), back),
        torch.arange(-400, 400, dtype=torch.int16).to(narrow),
    )
    assert tuple(map(checksum, actual)) == CHECKSUMS[dtype]


@pytest.mark.parametrize("dtype", FLOAT8)
def test_the_engine_rounds_as_kernels_do(dtype):
    narrow = getattr(torch, dtype)
    kernel = torch.from_numpy(WIDE).to(narrow).float().numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(round_array(np, WIDE, dtype), kernel)
    for k in range(0, len(WIDE), 97):
        np.testing.assert_equal(round_number(float(WIDE[k]), dtype), float(kernel[k]))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_elements_become_numbers_and_numbers_elements(dtype):
    narrow = getattr(torch, dtype)
    codes = torch.arange(256).to(torch.uint8).view(narrow)
    np.testing.assert_equal(codes.tolist(), list(numbers(dtype)))
    np.testing.assert_equal(codes.float().tolist(), list(numbers(dtype)))
    finite = [x for x in numbers(dtype) if np.isfinite(x)]
    again = torch.tensor(finite, dtype=narrow)
    np.testing.assert_equal(again.tolist(), finite)
    assert again.view(torch.uint8).tolist() == [code_of(x, dtype) for x in finite]
    assert all(code_of(x, dtype) == k for k, x in enumerate(numbers(dtype)) if x == x)

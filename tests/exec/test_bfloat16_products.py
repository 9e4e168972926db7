"""Products of bfloat16: every layout, gradients, convolutions, at every level."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F

ROUNDING = 2.0**-8  # relative, of the result
SUMMING = 2.0**-17  # of a float32 sum, relative to the sum of magnitudes


def numbers(*sizes, seed=0):
    values = np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)
    return torch.tensor(values).bfloat16()


def check(result, exact, magnitudes):
    """``exact`` is the float64 result, ``magnitudes`` that of the absolute values."""
    assert result.dtype == torch.bfloat16
    error = (result.double() - exact).abs()
    assert (error <= ROUNDING * exact.abs() + SUMMING * magnitudes).all()


def check_product(make, *operands):
    wide = [x.double() for x in operands]
    check(make(*operands), make(*wide), make(*(x.abs() for x in wide)))


@pytest.mark.parametrize(
    "size",
    [
        *((1, 4, 3), (1, 4200, 70), (3, 33, 5), (32, 768, 96), (13, 301, 40)),
        *((130, 515, 260), (70, 9001, 66), (300, 301, 1)),
    ],
    ids=str,
)
def test_products_of_every_layout(size):
    m, k, n = size
    a, b, bias = numbers(m, k), numbers(k, n, seed=1), numbers(n, seed=2)
    for x in (a, a.t().contiguous().t()):
        for y in (b, b.t().contiguous().t()):
            check_product(torch.mm, x, y)
            check_product(torch.addmm, bias, x, y)
            check_product(lambda x, w, b: F.linear(x, w.t(), b), x, y, bias)
    out = torch.empty(n, m, dtype=torch.bfloat16).t()
    assert torch.mm(a, b, out=out).equal(torch.mm(a, b))


def test_products_of_batches():
    check_product(torch.bmm, numbers(5, 20, 33), numbers(5, 33, 41, seed=1))
    check_product(torch.matmul, numbers(3, 2, 70, 65), numbers(65, 90, seed=1))


def test_gradients_are_products_too():
    x, weight, grad = numbers(50, 77), numbers(90, 77, seed=1), numbers(50, 90, seed=2)
    x, weight = x.requires_grad_(), weight.requires_grad_()
    F.linear(x, weight).backward(grad)
    for result, factors in ((x.grad, (grad, weight)), (weight.grad, (grad.t(), x))):
        left, right = (factor.detach().double() for factor in factors)
        check(result, left @ right, left.abs() @ right.abs())


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 3, 40])
def test_windows_are_cut_into_words(channels_last, kernel, channels):
    """Also if contiguous runs of k have an odd length."""
    x, weight = numbers(2, channels, 13, 12), numbers(24, channels, kernel, kernel)
    if channels_last:
        x = x.to(memory_format=torch.channels_last)
    x, weight = x.requires_grad_(), weight.requires_grad_()
    wide = [t.detach().double().requires_grad_() for t in (x, weight)]
    sizes = [t.detach().double().abs().requires_grad_() for t in (x, weight)]
    result = F.conv2d(x, weight, padding=1)
    exact, magnitudes = F.conv2d(*wide, padding=1), F.conv2d(*sizes, padding=1)
    check(result, exact, magnitudes)
    grad = numbers(*result.shape, seed=3)
    result.backward(grad)
    exact.backward(grad.double())
    magnitudes.backward(grad.double().abs())
    for got, want, size in zip((x, weight), wide, sizes, strict=True):
        check(got.grad, want.grad, size.grad)


def test_any_number_of_threads_gives_the_same():
    pairs = [
        (numbers(m, k), numbers(k, n, seed=1))
        for m, k, n in ((32, 768, 600), (150, 901, 200), (1, 4096, 512))
    ]
    before = torch.get_num_threads()
    try:
        result = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            result.append([torch.mm(a, b) for a, b in pairs])
    finally:
        torch.set_num_threads(before)
    for other in result[1:]:
        assert all(x.equal(y) for x, y in zip(result[0], other, strict=True))


def test_infinity_and_nan_go_where_they_should():
    a = torch.ones(3, 40, dtype=torch.bfloat16)
    a[0, 3], a[1, 39] = float("inf"), float("nan")
    result = torch.mm(a, torch.ones(40, 20, dtype=torch.bfloat16)).float()
    assert (
        result[0].isinf().all() and result[1].isnan().all() and (result[2] == 40).all()
    )


SCRIPT = """
import pellucid as torch
for m, k, n in ((1, 9, 40), (70, 36, 20), (130, 259, 300)):
    a = (torch.arange(m * k) % 5 - 2).reshape(m, k)
    b = (torch.arange(k * n) % 3 - 1).reshape(k, n)
    made = torch.mm(a.bfloat16(), b.bfloat16())
    assert made.equal(torch.mm(a, b).bfloat16()), (m, k, n)
"""


@pytest.mark.parametrize("level", ["x86-64-v4", "x86-64-v4-dot"])
def test_levels_below_compute_the_same_of_small_integers(level):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PELLUCID_ISA": level},
        capture_output=True,
        text=True,
    )
    unknown = "PELLUCID_ISA is " + level in done.stderr  # to this processor
    assert done.returncode == 0 or unknown, done.stderr

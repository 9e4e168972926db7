"""Transposed convolutions of stride 2, and gradients of such convolutions' images: each
is a convolution of stride 1 per phase of the result.
"""

import itertools

import numpy as np
import pytest

import pellucid as torch
from pellucid import explain


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def scattered(x, weight, size, stride, padding, dilation, groups):
    """Every product added where it belongs, in float64."""
    places, taps = x.shape[2:], weight.shape[2:]
    inputs, outputs = x.shape[1] // groups, weight.shape[1]
    dims = range(len(size))
    room = [n + 2 * p + 8 for n, p in zip(size, padding, strict=True)]
    y = np.zeros((x.shape[0], groups * outputs, *room))
    for tap in itertools.product(*map(range, taps)):
        at = tuple(
            slice(t * e, t * e + (n - 1) * s + 1, s)
            for t, e, n, s in zip(tap, dilation, places, stride, strict=True)
        )
        for g in range(groups):
            own = slice(g * inputs, (g + 1) * inputs)
            part = np.einsum("nc...,co->no...", x[:, own], weight[(own, ..., *tap)])
            y[(slice(None), slice(g * outputs, (g + 1) * outputs), *at)] += part
    return y[(..., *(slice(padding[d], padding[d] + size[d]) for d in dims))]


# places, taps, stride, padding, output padding, dilation, groups
CASES = {
    "4 taps": ((4, 5), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1), 1),
    "3 taps, even": ((5, 4), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1),
    "3 taps, odd": ((5, 4), (3, 3), (2, 2), (1, 1), (0, 0), (1, 1), 1),
    "2 taps": ((3, 6), (2, 2), (2, 2), (0, 0), (0, 0), (1, 1), 1),
    "1 tap": ((5, 4), (1, 1), (2, 2), (0, 0), (0, 1), (1, 1), 1),
    "5 taps, 2 groups": ((6, 5), (5, 4), (2, 2), (2, 0), (1, 0), (1, 1), 2),
    "one stride of 1": ((5, 6), (3, 4), (1, 2), (0, 1), (0, 0), (2, 1), 1),
    "a signal": ((9,), (6,), (2,), (2,), (0,), (1,), 1),
    "a volume": ((3, 4, 3), (2, 3, 4), (2, 2, 1), (0, 1, 1), (0, 1, 0), (1,) * 3, 1),
    "one place": ((1, 4), (2, 4), (2, 2), (0, 1), (0, 0), (1, 1), 1),
    "dilated": ((4, 5), (3, 3), (2, 2), (1, 1), (0, 0), (2, 2), 1),
    "stride 3": ((4, 5), (4, 4), (3, 3), (1, 1), (0, 0), (1, 1), 1),
}


def size_of(places, taps, stride, padding, extra, dilation):
    steps = zip(places, taps, stride, padding, extra, dilation, strict=True)
    return [(n - 1) * s - 2 * p + e * (t - 1) + o + 1 for n, t, s, p, o, e in steps]


@pytest.mark.parametrize("outputs", [8, 3])  # 3: too few for a product of each phase
@pytest.mark.parametrize("case", CASES)
def test_transposed_convolutions_are_the_scattered_sums(case, outputs):
    places, taps, stride, padding, extra, dilation, groups = CASES[case]
    size = size_of(places, taps, stride, padding, extra, dilation)
    x, weight = random(2, 6, *places), random(6, outputs, *taps, seed=1)
    bias = random(outputs * groups, seed=2)
    want = scattered(x, weight, size, stride, padding, dilation, groups)
    want += bias.reshape(-1, *(1,) * len(places))
    function = getattr(torch, f"conv_transpose{len(places)}d")
    options = (stride, padding, extra, groups, dilation)
    got = function(*map(torch.tensor, (x, weight, bias)), *options)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-11, atol=1e-11)
    one = function(*map(torch.tensor, (x[0], weight, bias)), *options)
    np.testing.assert_allclose(one.numpy(), want[0], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_images_are_the_scattered_sums(case, batched):
    places, taps, stride, padding, extra, dilation, groups = CASES[case]
    size = size_of(places, taps, stride, padding, extra, dilation)
    outputs, channels = 4 * groups, 8 * groups
    x, grad = random(2, channels, *size), random(2, outputs, *places, seed=1)
    weight = random(outputs, channels // groups, *taps, seed=2)
    want = scattered(grad, weight, size, stride, padding, dilation, groups)
    image = torch.tensor(x if batched else x[0], requires_grad=True)
    function = getattr(torch, f"conv{len(places)}d")
    y = function(image, torch.tensor(weight), None, stride, padding, dilation, groups)
    y.backward(torch.tensor(grad if batched else grad[0]))
    got = image.grad.numpy()
    np.testing.assert_allclose(
        got, want if batched else want[0], rtol=1e-11, atol=1e-11
    )


def test_phases_without_taps_are_not_computed():
    x = torch.tensor(random(2, 16, 8, 8), requires_grad=True)
    y = torch.conv2d(x, torch.tensor(random(4, 16, 1, 1)), None, 2)
    steps = str(explain(torch.autograd.grad, y, x, torch.ones_like(y)))
    kernels = steps.count("\n  kernel ")
    assert kernels == 3, steps  # products, zeros, and the products among the zeros


def test_results_have_the_memory_format_of_the_image():
    x = torch.tensor(random(2, 6, 4, 5)).to(memory_format=torch.channels_last)
    weight = torch.tensor(random(6, 8, 4, 4, seed=1))
    y = torch.conv_transpose2d(x, weight, None, 2, 1)
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(y, torch.conv_transpose2d(x.contiguous(), weight, None, 2, 1))


def test_second_gradients():
    x = torch.tensor(random(1, 2, 3, 3), requires_grad=True)
    weight = torch.tensor(random(2, 8, 3, 2, seed=1), requires_grad=True)

    def run(x, weight):
        return torch.conv_transpose2d(x, weight, None, 2, 1)

    assert torch.autograd.gradcheck(run, (x, weight))
    assert torch.autograd.gradgradcheck(run, (x, weight))

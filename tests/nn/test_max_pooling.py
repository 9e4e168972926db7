"""Max pooling gives the same numbers whether a gradient is recorded or not, and the
first of the greatest elements takes the gradient.
"""

import math

import pytest

import pellucid as torch
from pellucid.nn import functional

POOLS = {
    1: functional.max_pool1d,
    2: functional.max_pool2d,
    3: functional.max_pool3d,
}
OPTIONS = [
    (2, 2, 0, 1, False),
    (3, 1, 1, 1, False),
    (3, 2, 1, 2, True),
    (2, 3, 0, 1, True),
]


def images(dims, dtype, seed=0):
    """Few different numbers, so that many tie, and zeros of both signs."""
    torch.manual_seed(seed)
    x = torch.randint(-2, 3, (2, 3, *(11, 9, 8)[:dims])).to(dtype)
    return (
        torch.where(torch.rand(x.shape) < 0.2, -0.0, x)
        if dtype.is_floating_point
        else x
    )


def same_bits(a, b):
    return torch.equal(a, b) and torch.equal(torch.signbit(a), torch.signbit(b))


@pytest.mark.parametrize("dims", POOLS)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_values_do_not_depend_on_recording(dims, options, dtype):
    x = images(dims, getattr(torch, dtype))
    plain = POOLS[dims](x, *options)
    recorded = POOLS[dims](x.requires_grad_(), *options)
    assert recorded.requires_grad and same_bits(recorded.detach(), plain)


@pytest.mark.parametrize("dims", POOLS)
@pytest.mark.parametrize("options", OPTIONS)
def test_gradients_go_to_the_elements_at_the_indices(dims, options):
    x = images(dims, torch.float64).requires_grad_()
    *most, ceil_mode = options
    pooled, places = POOLS[dims](x, *most, ceil_mode=ceil_mode, return_indices=True)
    weight = torch.randn(pooled.shape, dtype=x.dtype)
    (actual,) = torch.autograd.grad((POOLS[dims](x, *options) * weight).sum(), x)
    flat = torch.zeros(2, 3, x[0, 0].numel(), dtype=x.dtype)
    flat.scatter_add_(2, places.flatten(2), weight.flatten(2))
    assert torch.allclose(actual, flat.view(x.shape))


def test_nan_wins_and_lowest_elements_have_places():
    low, nan = -math.inf, math.nan
    x = torch.tensor([[[low, low, 1.0, nan, 2.0, nan]]], requires_grad=True)
    pooled = functional.max_pool1d(x, 2)
    assert pooled[0, 0, 0] == low and pooled[0, 0, 1:].isnan().all()
    pooled.backward(torch.tensor([[[1.0, 2.0, 3.0]]]))
    assert x.grad.tolist() == [[[1.0, 0.0, 0.0, 2.0, 0.0, 3.0]]]


def test_bits_do_not_depend_on_the_number_of_threads():
    x = torch.randn(8, 16, 64, 64, requires_grad=True)
    threads, actual = torch.get_num_threads(), []
    for count in (1, 3):
        torch.set_num_threads(count)
        pooled = functional.max_pool2d(x, 3, 2, 1)
        actual.append((pooled.detach(), *torch.autograd.grad(pooled.sum(), x)))
    torch.set_num_threads(threads)
    assert all(map(torch.equal, *actual))

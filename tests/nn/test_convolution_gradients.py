"""``torch.nn.grad``: gradients of convolutions without recording them."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.testing import assert_close

OPTIONS = [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2, "padding": 2}]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("options", OPTIONS)
def test_they_are_those_of_autograd(dims, options):
    groups = options.get("groups", 1)
    x = torch.randn(2, 4, *[6] * dims, requires_grad=True)
    weight = torch.randn(6, 4 // groups, *[3] * dims, requires_grad=True)
    y = getattr(nn.functional, f"conv{dims}d")(x, weight, **options)
    grad = torch.randn_like(y)
    wanted = torch.autograd.grad(y, (x, weight), grad)
    of_input = getattr(nn.functional.grad, f"conv{dims}d_input")
    of_weight = getattr(nn.grad, f"conv{dims}d_weight")
    with torch.no_grad():
        actual = (
            of_input(x.shape, weight, grad, **options),
            of_weight(x, weight.shape, grad, **options),
        )
    for one, other in zip(actual, wanted, strict=True):
        assert_close(one, other, rtol=1e-4, atol=1e-4)

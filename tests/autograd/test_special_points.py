"""Gradients where there is no slope, and of NaN: PyTorch's choices."""

import math

import pytest

import pellucid as torch


def gradients(function, *values):
    inputs = [torch.tensor(v, dtype=torch.float64).requires_grad_() for v in values]
    return [g.tolist() for g in torch.autograd.grad(function(*inputs).sum(), inputs)]


def test_angles_at_the_origin_have_zero_gradients():
    found = gradients(torch.atan2, [0.0, 3.0], [0.0, 4.0])
    assert found == [[0.0, pytest.approx(0.16)], [0.0, pytest.approx(-0.12)]]
    z = torch.zeros(1, dtype=torch.complex128, requires_grad=True)
    (found,) = torch.autograd.grad(z.angle().sum(), z)
    assert found.tolist() == [0]


@pytest.mark.parametrize("function", [torch.maximum, torch.minimum])
def test_both_operands_have_the_gradient_of_nan(function):
    nan = math.nan
    first, second = gradients(function, [nan, 1.0, nan, 1.0], [1.0, nan, nan, 1.0])
    assert first == second == [1.0, 1.0, 1.0, 0.5]

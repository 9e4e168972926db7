"""autograd.functional: products with Jacobians and Hessians, against formulas."""

import pytest

import pellucid as torch
from pellucid.autograd import functional


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(3, dtype=torch.float64)


@pytest.fixture
def y():
    torch.manual_seed(1)
    return torch.randn(3, dtype=torch.float64)


def same(result, expected):
    return result.shape == expected.shape and torch.allclose(result, expected)


def cubes(x):
    return (x**3).sum()


def test_products(x, y):
    assert same(functional.vjp(torch.sin, x, y)[1], x.cos() * y)
    assert same(functional.jvp(torch.sin, x, y)[1], x.cos() * y)
    assert same(functional.vhp(cubes, x, y)[1], 6 * x * y)
    assert same(functional.hvp(cubes, x, y)[1], 6 * x * y)
    value, gradients = functional.vjp(lambda a, b: (a * b).sum(), (x, y))
    assert same(value, (x * y).sum()) and same(gradients[0], y)


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian_and_hessian(vectorize, x, y):
    def two(a, b):
        return a * b, a.sum()

    actual = functional.jacobian(two, (x, y), vectorize=vectorize)
    assert same(actual[0][0], y.diag()) and same(actual[1][0], torch.ones_like(x))
    assert same(actual[1][1], torch.zeros_like(x))
    blocks = functional.hessian(
        lambda a, b: (a * b.exp()).sum(), (x, y), vectorize=vectorize
    )
    assert same(blocks[0][1], y.exp().diag())
    assert same(blocks[1][1], (x * y.exp()).diag())


def test_forward_strategies(x):
    actual = functional.jacobian(torch.sin, x, vectorize=True, strategy="forward-mode")
    assert same(actual, x.cos().diag())
    actual = functional.hessian(
        cubes, x, vectorize=True, outer_jacobian_strategy="forward-mode"
    )
    assert same(actual, (6 * x).diag())
    with pytest.raises(NotImplementedError):
        functional.jacobian(torch.sin, x, strategy="forward-mode")


def test_create_graph_goes_on(x):
    x.requires_grad_()
    functional.jacobian(torch.sin, x, create_graph=True).sum().backward()
    assert same(x.grad, -x.detach().sin())
    assert not functional.jacobian(torch.sin, x).requires_grad


def test_strict_wants_dependence(x):
    for function in (functional.vjp, functional.jvp):
        with pytest.raises(RuntimeError, match="strict"):
            function(lambda a: torch.ones(1), x, torch.ones(1), strict=True)
    with pytest.raises(RuntimeError, match="single element"):
        functional.hvp(torch.sin, x, x)
    with pytest.raises(RuntimeError, match="shape"):
        functional.vjp(torch.sin, x, x[:2])


def test_batched_gradients_of_grad(x):
    x.requires_grad_()
    (actual,) = torch.autograd.grad(
        x**3, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True
    )
    assert same(actual, (3 * x.detach() ** 2).diag())

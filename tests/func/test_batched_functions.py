"""Functions whose rule for vmap is generated, under other transforms."""

from __future__ import annotations

from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import Function
from pellucid.func import grad, hessian, jacfwd, jvp, vmap


class Product(Function):
    """``x x y``; its rules read saved arguments."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = ctx.saved_tensors
        return g * 2 * x * y, g * x * x

    @staticmethod
    def jvp(ctx: Any, dx: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
        x, y = ctx.saved_tensors
        return 2 * x * y * dx + x * x * dy


class Cube(Function):
    """``x ** 3`` and its slope, which backward reads."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(inputs[0], output[1], None)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor, g_slope: torch.Tensor) -> torch.Tensor:
        x, slope, nothing = ctx.saved_tensors
        assert nothing is None
        return g * slope + g_slope * 6 * x


def cube(x: torch.Tensor) -> torch.Tensor:
    return Cube.apply(x)[0]


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return Product.apply(x, y)


@pytest.fixture
def x() -> torch.Tensor:
    return torch.tensor([1.0, 2.0, 3.0])


y = torch.tensor(5.0)


def test_a_saved_result_has_its_history(x) -> None:
    assert vmap(grad(cube))(x).equal(3 * x**2)
    assert vmap(grad(grad(cube)))(x).equal(6 * x)


def test_saved_arguments_have_their_history(x) -> None:
    over_rows = (0, None)
    assert vmap(grad(grad(product)), over_rows)(x, y).equal(torch.full((3,), 10.0))
    assert vmap(grad(grad(product, 1)), over_rows)(x, y).equal(2 * x)
    actual = grad(lambda y: vmap(grad(product), over_rows)(x, y).sum())(y)
    assert actual.equal(2 * x.sum())


def test_vmap_nests(x) -> None:
    both = vmap(vmap(grad(product), (0, None)), (None, 0))
    actual = both(x, torch.stack([y, 2 * y]))
    assert actual.equal(torch.stack([2 * x * y, 4 * x * y]))


def test_forward_mode_outside_of_vmap(x) -> None:
    def mapped(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return vmap(product, (0, None))(x, y)

    value, tangent = jvp(mapped, (x, y), (torch.ones(3), torch.ones(())))
    assert value.equal(x * x * y) and tangent.equal(2 * x * y + x * x)
    assert jacfwd(mapped)(x, y).equal((2 * x * y).diag())
    assert hessian(lambda x: mapped(x, y).sum())(x).equal(torch.full((3,), 10.0).diag())


def test_a_rule_receives_the_randomness(x) -> None:
    seen = []

    class Told(Function):
        @staticmethod
        def forward(x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: torch.Tensor) -> Any:
            seen.append((info.batch_size, info.randomness, in_dims))
            return Told.apply(x), 0

    vmap(Told.apply, randomness="different")(x)
    assert seen == [(3, "different", (0,))]

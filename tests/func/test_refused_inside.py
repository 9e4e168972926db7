"""A function inside of a transform may not use the graph around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import forward_ad, functional
from pellucid.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from pellucid.utils._pytree import tree_flatten

x = torch.ones(3)

TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(f)(x),
    "vjp": lambda f: vjp(f, x),
    "jacrev": lambda f: jacrev(f)(x),
    "jvp": lambda f: jvp(f, (x,), (x,)),
    "jacfwd": lambda f: jacfwd(f)(x),
    "hessian": lambda f: hessian(f)(x),
    "vmap": lambda f: vmap(f)(torch.ones(2, 3)),
    "functionalize": lambda f: functionalize(f)(x),
}


def asks_of_its_argument(x: Any) -> Any:
    return x.requires_grad_().sum()


def asks_of_its_own(x: Any) -> Any:
    return (torch.ones(3).requires_grad_() * x).sum()


def runs_backward(x: Any) -> Any:
    y = x.sin().sum()
    y.backward()
    return y


def runs_backward_of_several(x: Any) -> Any:
    y = x.sin().sum()
    torch.autograd.backward([y])
    return y


def keeps_the_gradient(x: Any) -> Any:
    y = x.sin()
    y.retain_grad()
    return y.sum()


def asks_for_a_jacobian(x: Any) -> Any:
    return functional.jacobian(torch.sin, x).sum()


REFUSED = {
    asks_of_its_argument: r"^requires_grad_\(\)",
    asks_of_its_own: r"^requires_grad_\(\)",
    runs_backward: r"^backward\(\)",
    runs_backward_of_several: r"^backward\(\)",
    keeps_the_gradient: r"^retain_grad\(\)",
    asks_for_a_jacobian: r"^requires_grad_\(\)",
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_the_graph_around_is_not_needed(function: Any, transform: str) -> None:
    with pytest.raises(RuntimeError, match=REFUSED[function]):
        TRANSFORMS[transform](function)
    y = x.clone().requires_grad_()  # the failed transform has ended
    (y * y).sum().backward()
    assert torch.equal(y.grad, 2 * x)


def makes_a_leaf(x: Any) -> Any:
    return (torch.ones(3, requires_grad=True) * x).sum()


def sets_the_flag(x: Any) -> Any:
    weight = torch.ones(3)
    weight.requires_grad = True
    return (weight * x).sum()


def makes_a_parameter(x: Any) -> Any:
    return (torch.nn.Parameter(torch.ones(3)) * x).sum()


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", [makes_a_leaf, sets_the_flag, makes_a_parameter])
def test_leaves_may_be_made_inside(function: Any, transform: str) -> None:
    """The leaves hold ones, so the result is that of the sum."""
    actual = tree_flatten(TRANSFORMS[transform](function))[0]
    expected = tree_flatten(TRANSFORMS[transform](lambda x: x.sum()))[0]
    tensors = [
        [value for value in values if isinstance(value, torch.Tensor)]
        for values in (actual, expected)
    ]
    assert tensors[0]
    for value, wanted in zip(*tensors, strict=True):
        assert torch.allclose(value, wanted)


def test_gradients_of_a_dual_level_are_not_a_transform() -> None:
    with forward_ad.dual_level():
        weight = torch.ones(3).requires_grad_()
        (weight * 2).sum().backward()
        assert torch.equal(weight.grad, 2 * x)


def test_a_gradient_inside_of_a_gradient() -> None:
    def slope(x: Any) -> Any:
        return torch.autograd.grad(x.sin().sum(), x, create_graph=True)[0].sum()

    assert torch.allclose(grad(slope)(x), -x.sin())

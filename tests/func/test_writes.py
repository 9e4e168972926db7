"""In-place writes through views, under every transform and every order of two."""

from __future__ import annotations

import pytest

import pellucid as torch
from pellucid.func import grad, jacfwd, jacrev, jvp, vmap

x = torch.tensor([0.7, 1.3, 1.9], dtype=torch.float64)
direction = torch.tensor([0.3, -0.8, 0.5], dtype=torch.float64)


def slices(x: torch.Tensor) -> torch.Tensor:
    y = x * 1
    y[1:].mul_(x[:-1])
    return y.sin()


def slices_without_writes(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[:1], x[1:] * x[:-1]]).sin()


def columns(x: torch.Tensor) -> torch.Tensor:
    """The base is column-major."""
    y = torch.outer(x, x.exp()).t().clone()
    y[0].mul_(x)
    y[:, 1] = x.sin()
    return y.sum(1)


def columns_without_writes(x: torch.Tensor) -> torch.Tensor:
    y = torch.outer(x.exp(), x)
    y = torch.cat([(y[0] * x).unsqueeze(0), y[1:]])
    return torch.stack([y[:, 0], x.sin(), y[:, 2]], 1).sum(1)


def elements(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[0] = x[1] * x[2]
    y[torch.tensor([1, 2])] = x[:2] ** 2
    return y * y


def elements_without_writes(x: torch.Tensor) -> torch.Tensor:
    y = torch.stack([x[1] * x[2], x[0] ** 2, x[1] ** 2])
    return y * y


PAIRS = {
    "slices": (slices, slices_without_writes),
    "columns": (columns, columns_without_writes),
    "elements": (elements, elements_without_writes),
}


def total_of_tangents(func):
    return lambda x: jvp(func, (x,), (direction,))[1].sum()


TRANSFORMS = {
    "jacrev": lambda func: jacrev(func)(x),
    "jacfwd": lambda func: jacfwd(func)(x),
    "jacrev of jacrev": lambda func: jacrev(jacrev(func))(x),
    "jacfwd of jacrev": lambda func: jacfwd(jacrev(func))(x),
    "jacrev of jacfwd": lambda func: jacrev(jacfwd(func))(x),
    "grad of jvp": lambda func: grad(total_of_tangents(func))(x),
    "vmap of jvp": lambda func: vmap(lambda x: jvp(func, (x,), (direction,))[1])(
        torch.stack([x, 2 * x])
    ),
    "vmap of jacrev": lambda func: vmap(jacrev(func))(torch.stack([x, 2 * x])),
    "rows at once": lambda func: torch.autograd.functional.jacobian(
        func, x, vectorize=True
    ),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("pair", PAIRS)
def test_writes_are_as_if_there_were_none(pair: str, transform: str) -> None:
    writing, pure = PAIRS[pair]
    actual, expected = TRANSFORMS[transform](writing), TRANSFORMS[transform](pure)
    assert torch.allclose(actual, expected, rtol=1e-9, atol=1e-12)

"""Caches of traced calls are bounded: plans, derivatives and their ops. A graph keeps
alive what it needs.
"""

import gc
import itertools
from collections.abc import Iterator

import pytest

import pellucid as torch
from pellucid import _C

MOST = 8
DIMS = tuple(
    dims
    for count in range(2, 6)
    for dims in itertools.combinations(range(7), count)
    if dims != tuple(range(7 - count, 7))
)


@pytest.fixture(autouse=True)
def few_are_remembered() -> Iterator[None]:
    before = _C._limit_traced(MOST)
    yield
    _C._limit_traced(before)


def operand() -> torch.Tensor:
    values = torch.arange(128, dtype=torch.float64).reshape([2] * 7)
    return (values / 64).sin().requires_grad_()


def softmax_over(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
    """The gradient of logsumexp: exp(x - logsumexp(x))."""
    x = x.detach()
    return (x - x.exp().sum(dims, keepdim=True).log()).exp()


def living_ops() -> int:
    records, retired, free = _C._count_ops()
    return records - retired - free


def test_keys_of_derivatives_are_bounded() -> None:
    x = operand()
    for dims in DIMS[:MOST]:
        torch.logsumexp(x, dims).sum().backward()
    begin, (records, _, _) = living_ops(), _C._count_ops()
    for dims in DIMS:
        x.grad = None
        torch.logsumexp(x, dims).sum().backward()
        assert torch.allclose(x.grad, softmax_over(x, dims))
    gc.collect()
    assert living_ops() <= begin + 4 * MOST
    assert _C._count_ops()[0] <= records + 64 + 4 * MOST  # 64 wait to be recycled


def test_a_graph_outlives_the_plans_of_its_nodes() -> None:
    x = operand()
    held = [(dims, torch.logsumexp(x, dims)) for dims in DIMS[: 4 * MOST]]
    for dims, result in held:
        (gradient,) = torch.autograd.grad(result.sum(), x)
        assert torch.allclose(gradient, softmax_over(x, dims))


def test_second_derivatives_outlive_the_first_ones_plans() -> None:
    x = operand()
    held = []
    for dims in DIMS[: 2 * MOST]:
        result = torch.logsumexp(x, dims)
        (first,) = torch.autograd.grad(result.sum(), x, create_graph=True)
        held.append((dims, first))
        del result
    for dims in DIMS[2 * MOST : 4 * MOST]:  # evicts the plans of the graphs above
        torch.logsumexp(x, dims).sum().backward()
    gc.collect()
    for dims, first in held:
        (second,) = torch.autograd.grad(first.square().sum(), x)
        p = softmax_over(x, dims)
        expected = 2 * p * (p - p.square().sum(dims, keepdim=True))
        assert torch.allclose(second, expected)


def test_forward_mode_and_vmap_are_bounded() -> None:
    x = operand().detach()
    begin = living_ops()
    for dims in DIMS[: 4 * MOST]:
        value, tangent = torch.func.jvp(
            lambda t, dims=dims: torch.logsumexp(t, dims), (x,), (torch.ones_like(x),)
        )
        assert torch.allclose(tangent, torch.ones_like(value))
        batched = torch.func.vmap(lambda t, dims=dims: torch.logsumexp(t, dims))
        inner = tuple(d for d in dims if d < 6)
        if inner:
            each = torch.func.vmap(lambda t, d=inner: torch.logsumexp(t, d))(x)
            assert torch.allclose(each[0], torch.logsumexp(x[0], inner))
        del batched
    gc.collect()
    assert living_ops() <= begin + 8 * MOST


def test_ops_that_python_holds_stay() -> None:
    x = operand()
    result = torch.logsumexp(x, (0, 3))
    op, _ = _C._derivative_of("aten::logsumexp", 1, (result,), x, [0, 3])
    name = str(op._full_name)
    for dims in DIMS[: 4 * MOST]:
        torch.logsumexp(x, dims).sum().backward()
    gc.collect()
    rule, forward, *_ = _C._derived_from(name)
    assert (rule, forward._full_name) == ("vjp", "aten::logsumexp")

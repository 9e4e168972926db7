"""Which results have a history: factories, zeros in place of gradients, linear
functions; and what nodes save.
"""

from __future__ import annotations

import pytest

import pellucid as torch
from pellucid.autograd import grad, graph


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(
    "make",
    [
        torch.zeros_like,
        torch.ones_like,
        lambda x: torch.full_like(x, 2.0),
        lambda x: x.new_zeros(2),
        lambda x: x.new_full((2,), 1.0),
    ],
)
def test_factories_record_nothing(make) -> None:
    result = make(leaf(1.0, 2.0))
    assert not result.requires_grad and result.grad_fn is None


@pytest.mark.parametrize("create_graph", [False, True])
def test_materialized_zeros_have_no_node(create_graph: bool) -> None:
    used, unused = leaf(1.0), leaf(2.0)
    _, zeros = grad(
        (used * used).sum(),
        [used, unused],
        materialize_grads=True,
        create_graph=create_graph,
    )
    assert zeros.tolist() == [0.0] and zeros.grad_fn is None
    assert zeros.requires_grad == create_graph


def test_linear_functions_record_their_tangents_alone() -> None:
    x = torch.ones(2, dtype=torch.float64)
    output, push = torch.func.linearize(torch.sin, x)
    tangent = push(torch.ones(2, dtype=torch.float64))
    assert not output.requires_grad and not tangent.requires_grad
    direction = leaf(1.0, 2.0)
    push(direction).sum().backward()
    assert torch.allclose(direction.grad, x.cos())


@pytest.mark.parametrize("op", ["median", "nanmedian"])
def test_elements_equal_to_the_median_share_its_gradient(op: str) -> None:
    x = leaf(1.0, 2.0, 2.0, 3.0)
    getattr(x, op)().backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5, 0.0]
    x = leaf(1.0, float("nan"), 2.0, 2.0)
    getattr(x, op)().backward()
    expected = {"median": [0.0, 1.0, 0.0, 0.0], "nanmedian": [0.0, 0.0, 0.5, 0.5]}
    assert x.grad.tolist() == expected[op]


def test_a_linear_scan_saves_nothing() -> None:
    kept = []
    x = leaf(1.0, 2.0, 3.0)
    with graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = x.cumsum(0)
    (y * torch.arange(3)).sum().backward()
    assert not kept and x.grad.tolist() == [3.0, 3.0, 2.0]


def test_contexts_give_nothing_to_their_scope() -> None:
    with torch.no_grad() as target:
        assert target is None
    setting = torch.set_grad_enabled(False)
    assert setting.prev and not setting.mode
    with setting:
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_layout_policy() -> None:
    strides = {}
    for enforced in (True, False):
        x = torch.ones(2, 3).t().requires_grad_()
        with torch.autograd.enforce_grad_layout_policy(enforced):
            (x * torch.ones(3, 2)).contiguous().sum().backward(inputs=[x])
            grad(x.sum(), x)
        strides[enforced] = x.grad.stride()
    assert strides[True] == (1, 3)


@pytest.mark.parametrize(
    ("budget", "error"), [("a", TypeError), (2.0, ValueError), (0.5, RuntimeError)]
)
def test_memory_budget_is_for_compiled_regions(budget, error) -> None:
    with pytest.raises(error, match="region_activation_memory_budget"):
        graph.region_activation_memory_budget(budget)

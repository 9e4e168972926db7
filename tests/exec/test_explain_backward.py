"""explain.backward: a pass node by node."""

import pytest

import pellucid as torch


def test_nodes_come_in_the_order_of_the_pass_with_what_they_ran():
    x = torch.ones(2, 3, requires_grad=True)
    text = torch.explain.backward((x.exp() * 2).sum()).more
    places = [text.index(n) for n in ("SumBackward0", "MulBackward0", "ExpBackward0")]
    assert places == sorted(places)
    assert "saved      result: float32[2, 3], 24 B" in text
    assert "goes to    the leaf leaf, float32 2x3" in text
    assert "exp_vjp" in text and "kernel" in text
    assert x.grad is None


def test_a_node_gives_its_graph_which_stays_usable():
    x = torch.ones(2, requires_grad=True)
    y = x * x
    assert "MulBackward0" in str(torch.explain(y.grad_fn))
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_tensor_without_a_graph_is_refused():
    with pytest.raises(ValueError, match="no grad_fn"):
        torch.explain.backward(torch.ones(1))

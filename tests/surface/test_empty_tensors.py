"""Tensors without elements, and scalars: nothing crashes, identities come out."""

import pytest

import pellucid as torch


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("name, identity", [("sum", 0.0), ("prod", 1.0)])
def test_a_reduction_of_nothing_is_its_identity(shape, name, identity):
    assert getattr(torch.zeros(shape), name)().item() == identity


@pytest.mark.parametrize("dim, expected", [(0, []), (1, [0.0, 0.0, 0.0])])
def test_sums_over_an_empty_dim(dim, expected):
    assert torch.zeros(3, 0).sum(dim).tolist() == expected


def test_truth_of_nothing():
    assert not torch.zeros(0).any().item()
    assert torch.zeros(0).all().item()


@pytest.mark.parametrize("old, new", [((), (1,)), ((1,), ()), ((0, 3), (3, 0))])
def test_gradients_through_views_of_scalars_and_of_nothing(old, new):
    x = torch.ones(old, requires_grad=True)
    x.view(new).sum().backward()
    assert x.grad.shape == x.shape

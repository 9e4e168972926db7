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


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_of_nothing_is_nan(shape, name):
    assert getattr(torch.zeros(shape), name)().isnan().item()


def test_a_dim_of_an_empty_tensor_is_unflattened():
    assert torch.zeros(2, 0).unflatten(0, (-1, 1)).shape == (2, 1, 0)
    assert torch.zeros(0, 6).unflatten(1, (3, -1)).shape == (0, 3, 2)


def test_slices_of_which_there_are_none():
    actual = torch.unique(torch.zeros(0, 3), dim=0, return_inverse=True)
    assert [tensor.shape for tensor in actual] == [(0, 3), (0,)]
    for function in (torch.unique, torch.unique_consecutive):
        with pytest.raises(RuntimeError, match="no elements"):
            function(torch.zeros(3, 0), dim=0)


def test_an_empty_index_stores_nothing_of_a_source_of_any_rank():
    x, index = torch.ones(2, 2), torch.zeros(2, 0, dtype=torch.int64)
    assert x.scatter_add(1, index, torch.ones(2, 2, 2)).tolist() == x.tolist()

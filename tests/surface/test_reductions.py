"""What reductions do with unusual dims and dtypes."""

import pytest

import pellucid as torch


@pytest.mark.parametrize("keepdim", [False, True])
def test_truth_over_no_dims_is_that_of_each_element(keepdim):
    x = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
    expected = [[False, True], [True, False]]
    assert torch.any(x, [], keepdim=keepdim).tolist() == expected
    assert torch.all(x, (), keepdim=keepdim).tolist() == expected
    assert torch.any(x, None).item() is True


def test_products_of_floats_as_integers():
    x = torch.tensor([[1.5, 2.0], [3.0, 4.5]], requires_grad=True)
    product = torch.prod(x, 0, dtype=torch.int32)
    assert product.dtype == torch.int32
    assert product.tolist() == [3, 8]
    assert not product.requires_grad
    assert torch.prod(x, dtype=torch.int64).item() == 24


def test_comparisons_write_into_masks_where_gradients_are_recorded():
    x, mask = torch.ones(2, requires_grad=True), torch.zeros(2, dtype=torch.bool)
    torch.gt(x, 0, out=mask)
    assert mask.tolist() == [True, True]
    for given, out in [(x, torch.zeros(2)), (torch.ones(2), x)]:
        with pytest.raises(RuntimeError, match="out="):
            torch.mul(given, 2, out=out)


def test_equal_compares_across_dtypes():
    assert torch.equal(torch.ones(2), torch.ones(2, dtype=torch.int32))
    assert not torch.equal(torch.ones(2), torch.zeros(2, dtype=torch.int32))

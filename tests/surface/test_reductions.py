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
    for inputs, out in [(x, torch.zeros(2)), (torch.ones(2), x)]:
        with pytest.raises(RuntimeError, match="out="):
            torch.mul(inputs, 2, out=out)


def test_equal_compares_across_dtypes():
    assert torch.equal(torch.ones(2), torch.ones(2, dtype=torch.int32))
    assert not torch.equal(torch.ones(2), torch.zeros(2, dtype=torch.int32))


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_a_destination_of_another_dtype_says_what_is_computed(name):
    x = torch.tensor([[1.5, 2.5], [3.5, -1.5]], dtype=torch.float64)
    function = getattr(torch, name)
    for dtype in (torch.float32, torch.int32):
        out = torch.empty(0, dtype=dtype)
        function(x, 0, out=out)
        assert out.dtype == dtype
        assert out.tolist() == function(x.to(dtype), 0, dtype=dtype).tolist()
    with pytest.raises(RuntimeError, match="dtype"):
        function(x, 0, dtype=torch.float64, out=torch.empty(0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_one_number_keep_half_precision(dtype):
    x = torch.tensor(2.5, dtype=dtype, requires_grad=True)
    for product in (x.prod(), x.prod(0), x.prod(-1, keepdim=True)):
        assert product.dtype == dtype
        (gradient,) = torch.autograd.grad(product, x)
        assert gradient.dtype == dtype
        assert gradient.item() == 1


def test_none_means_no_dims():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.amax(x, None).item() == 5
    assert torch.amin(x, None, keepdim=True).shape == (1, 1)
    assert torch.roll(x, 1, None).tolist() == [[5, 0, 1], [2, 3, 4]]
    with pytest.raises(TypeError):
        torch.logsumexp(x, None)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(
    ("reduce", "combine"),
    [("sum", any), ("prod", all), ("amax", any), ("amin", all)],
)
def test_bools_are_reduced_at_places(reduce, combine, include_self):
    start, source = [True, False, True], [True, False, False, True]
    index = [0, 0, 1, 1]
    actual = torch.tensor(start).scatter_reduce(
        0, torch.tensor(index), torch.tensor(source), reduce, include_self=include_self
    )
    for place, before in enumerate(start):
        there = [s for s, i in zip(source, index, strict=True) if i == place]
        values = [before, *there] if include_self or not there else there
        assert actual[place].item() == combine(values)


def test_bools_have_no_mean_at_places():
    x = torch.tensor([True, False])
    with pytest.raises(NotImplementedError, match="bool"):
        x.scatter_reduce(0, torch.tensor([0, 1]), x, "mean")


def test_the_extrema_of_one_number_do_not_share_memory():
    least, greatest = torch.tensor(3.0).aminmax()
    least.zero_()
    assert greatest == 3

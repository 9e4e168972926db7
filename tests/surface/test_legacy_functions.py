"""Functions of the package that PyTorch keeps beside those of nn.functional."""

import pytest

import pellucid as torch
from pellucid.nn import functional as F
from pellucid.testing import assert_close


def test_dims_may_be_permuted_in_memory():
    assert torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    with pytest.raises(RuntimeError, match="not a permutation"):
        torch.empty_permuted((2, 3), (0, 0))


def test_losses_reduce_by_number():
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    sign = torch.tensor([1.0, -1.0, 1.0])
    actual = torch.cosine_embedding_loss(x, y, sign, 0.1, 2)
    assert_close(actual, F.cosine_embedding_loss(x, y, sign, 0.1, reduction="sum"))
    actual = torch.poisson_nll_loss(x, y.exp(), True, False, 1e-8, 0)
    assert_close(actual, F.poisson_nll_loss(x, y.exp(), reduction="none"))


def test_norms_take_the_weight_first():
    x, weight, mean = torch.randn(3, 4), torch.rand(4), torch.randn(4)
    actual = torch.batch_norm(x, weight, None, mean, weight, False, 0.1, 1e-5, True)
    assert_close(actual, F.batch_norm(x, mean, weight, weight))
    assert_close(torch.norm_except_dim(x, 2, 1), x.square().sum(0, True).sqrt())


def test_a_convolution_over_time_first():
    x, taps = torch.randn(5, 2, 3), torch.randn(2, 3, 4)
    actual = torch.conv_tbc(x, taps, torch.zeros(4), 1)
    padded = F.pad(x, (0, 0, 0, 0, 1, 1))
    assert_close(actual, padded[:-1] @ taps[0] + padded[1:] @ taps[1])


def test_names_of_older_pythons_are_methods():
    x = torch.tensor([5.0])
    assert x.__div__(2).item() == 2.5 and x.__rdiv__(10).item() == 2
    assert x.__long__() == 5 and x.__nonzero__() is True
    assert x.__idiv__(2) is x and x.item() == 2.5


@pytest.mark.parametrize("name", ["xpu", "mtia", "ipu"])
def test_devices_that_are_not_there_are_refused(name):
    error = NotImplementedError if name == "ipu" else AssertionError
    with pytest.raises(error, match=name.upper()):
        getattr(torch.ones(1), name)()


def test_sizes_that_are_out_of_range_are_refused():
    torch.sym_constrain_range(3, min=1, max=5)
    torch.sym_constrain_range_for_size(3)
    for options, message in (
        ({"min": 4}, "Invalid value range for 3"),
        ({"max": 2}, "Invalid value range for 3"),
        ({"min": 5, "max": 2}, "greater than or equal to min"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.sym_constrain_range(3, **options)
    with pytest.raises(RuntimeError, match=r"between \[0,"):
        torch.sym_constrain_range_for_size(-1)
    with pytest.raises(RuntimeError, match="greater than 2"):
        torch.sym_constrain_range_for_size(1, max=2)


def test_functional_shows_what_libraries_import_from_it():
    functional = torch.nn.functional
    assert functional.has_torch_function == torch.overrides.has_torch_function
    assert not functional.has_torch_function((torch.ones(1),))  # imported by its use
    assert functional.has_torch_function is torch.overrides.has_torch_function
    assert functional.BroadcastingList2[int] == list[int]
    assert functional.GRID_SAMPLE_PADDING_MODES["border"] == 1
    functional.assert_int_or_pair([1, 2], "size", "{} is a pair")
    with pytest.raises(AssertionError, match="size is a pair"):
        functional.assert_int_or_pair([1], "size", "{} is a pair")
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        functional.absent  # noqa: B018

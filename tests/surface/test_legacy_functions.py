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
    found = torch.cosine_embedding_loss(x, y, sign, 0.1, 2)
    assert_close(found, F.cosine_embedding_loss(x, y, sign, 0.1, reduction="sum"))
    found = torch.poisson_nll_loss(x, y.exp(), True, False, 1e-8, 0)
    assert_close(found, F.poisson_nll_loss(x, y.exp(), reduction="none"))


def test_norms_take_the_weight_first():
    x, weight, mean = torch.randn(3, 4), torch.rand(4), torch.randn(4)
    found = torch.batch_norm(x, weight, None, mean, weight, False, 0.1, 1e-5, True)
    assert_close(found, F.batch_norm(x, mean, weight, weight))
    assert_close(torch.norm_except_dim(x, 2, 1), x.square().sum(0, True).sqrt())


def test_a_convolution_over_time_first():
    x, taps = torch.randn(5, 2, 3), torch.randn(2, 3, 4)
    found = torch.conv_tbc(x, taps, torch.zeros(4), 1)
    padded = F.pad(x, (0, 0, 0, 0, 1, 1))
    assert_close(found, padded[:-1] @ taps[0] + padded[1:] @ taps[1])

"""Writes of one value through a mask: no size depends on the mask, so they work where
values are unknown.
"""

import pytest

import pellucid as torch

SHAPE = 3, 4


def masks():
    torch.manual_seed(0)
    return [torch.rand(SHAPE) > 0.5, torch.rand(3) > 0.5]


@pytest.mark.parametrize("mask", masks())
def test_on_meta(mask):
    x, value = torch.zeros(SHAPE, device="meta"), torch.tensor(2.0, device="meta")
    result = x.index_put((mask.to("meta"),), value)
    assert result.device.type == "meta" and result.shape == SHAPE
    x[mask.to("meta")] = 1.0
    assert x.shape == SHAPE


@pytest.mark.parametrize("mask", masks())
def test_of_every_example(mask):
    x = torch.randn(2, *SHAPE)
    both, value = torch.stack([mask, ~mask]), torch.tensor(2.0)
    actual = torch.vmap(lambda x, m: x.index_put((m,), value))(x, both)
    expected = [x[k].index_put((both[k],), value) for k in range(2)]
    assert torch.equal(actual, torch.stack(expected))


@pytest.mark.parametrize("mask", masks())
def test_values_and_gradients(mask):
    x, value = torch.randn(SHAPE).double(), torch.tensor(2.0).double()
    x.requires_grad_()
    value.requires_grad_()
    result = x.index_put((mask,), value)
    wide = mask.view(3, -1).expand(SHAPE)
    expected = torch.where(wide, value, x)
    assert torch.equal(result, expected)
    slopes = torch.randn(SHAPE).double()
    actual = torch.autograd.grad(result, (x, value), slopes)
    wanted = torch.autograd.grad(expected, (x, value), slopes)
    torch.testing.assert_close(actual, wanted)


def test_masks_of_another_size_are_refused():
    x = torch.zeros(SHAPE)
    for mask in (torch.ones(4) > 0, torch.ones(3, 4, 1) > 0):
        with pytest.raises(IndexError):
            x[mask] = 1.0

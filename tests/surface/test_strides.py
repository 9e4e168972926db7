"""Strides of views that programs read, as PyTorch's."""

import pytest

import pellucid as torch


@pytest.mark.parametrize(
    ("view", "strides"),
    [
        (lambda x: x.unsqueeze(0), (6, 3, 1)),
        (lambda x: x.unsqueeze(1), (3, 3, 1)),
        (lambda x: x.unsqueeze(2), (3, 1, 1)),
        (lambda x: x.t().unsqueeze(0), (3, 1, 3)),
        (lambda x: x.t().unsqueeze(1), (1, 6, 3)),
        (lambda x: x[:, None], (3, 3, 1)),
        (lambda x: x.expand(4, 2, 3), (0, 3, 1)),
        (lambda x: x.expand(1, 2, 3), (6, 3, 1)),
    ],
)
def test_strides_of_new_dims(view, strides):
    assert view(torch.zeros(2, 3)).stride() == strides


def test_a_view_of_more_elements_than_can_be_counted_is_refused():
    with pytest.raises(RuntimeError, match="elements"):
        torch.ones(1).expand(2**62, 4)
    assert torch.ones(0, 1).expand(0, 2**62).numel() == 0


def test_no_view_has_a_negative_size():
    for sizes in ((-1,), (5, -1), (-1, 0)):
        with pytest.raises(RuntimeError, match="negative"):
            torch.ones(4).as_strided(sizes, (1,) * len(sizes))


LIKE = [torch.zeros_like, torch.ones_like, torch.empty_like, torch.rand_like]


@pytest.mark.parametrize("make", LIKE, ids=lambda make: make.__name__)
def test_tensors_like_another_have_its_order(make):
    image = torch.zeros(2, 3, 4, 5)
    last = (60, 1, 15, 3)
    permuted = torch.zeros(4, 3, 2, 5).permute(2, 0, 3, 1)
    for _ in range(3):  # also when the call comes again
        assert make(permuted).stride() == permuted.stride()
        assert make(image[..., ::2]).stride() == (36, 12, 3, 1)
        assert make(image.to(memory_format=torch.channels_last)).stride() == last
        assert make(image, memory_format=torch.channels_last).stride() == last
        row_major = make(permuted, memory_format=torch.contiguous_format)
        assert row_major.is_contiguous()
        assert make(permuted, device="meta").stride() == permuted.stride()


def test_filled_tensors_like_another_have_its_order():
    x = torch.full_like(torch.zeros(3, 4).t(), 2.5)
    assert x.stride() == (1, 4)
    assert x.tolist() == [[2.5] * 3] * 4


def test_a_copy_lies_as_it_is_asked_to():
    x = torch.arange(12.0).reshape(3, 4)
    for _ in range(3):
        assert x.t().clone().stride() == (1, 4)
        copy = x.t().clone(memory_format=torch.contiguous_format)
        assert copy.stride() == (3, 1)
        assert copy.tolist() == x.t().tolist()
        assert x.t().clone(memory_format=torch.preserve_format).stride() == (1, 4)
    image = torch.arange(120.0).reshape(2, 3, 4, 5)
    copy = image.clone(memory_format=torch.channels_last)
    assert copy.stride() == (60, 1, 15, 3)
    assert copy.tolist() == image.tolist()

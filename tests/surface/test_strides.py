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

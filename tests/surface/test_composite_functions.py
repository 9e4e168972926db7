"""Functions that are made of ops: masked reductions, windows, histograms, copies."""

import pytest

import pellucid as torch
from pellucid.testing import assert_close, make_tensor


def test_masked_reductions_leave_elements_out():
    x = torch.tensor([[1.0, 5.0], [3.0, 4.0]])
    mask = torch.tensor([[True, False], [True, True]])
    assert torch.masked.sum(x, 1, mask=mask).tolist() == [1.0, 7.0]
    assert torch.masked.amax(x, 0, mask=mask).tolist() == [3.0, 4.0]
    assert torch.masked.mean(x, 1, mask=mask).tolist() == [1.0, 3.5]
    assert torch.masked.softmax(x, 1, mask=mask)[0].tolist() == [1.0, 0.0]


def test_windows_are_symmetric_or_periodic():
    windows = torch.signal.windows
    assert_close(windows.hann(5), torch.tensor([0.0, 0.5, 1.0, 0.5, 0.0]))
    assert_close(windows.hann(4, sym=False), torch.tensor([0.0, 0.5, 1.0, 0.5]))
    with pytest.raises(ValueError, match="tau"):
        windows.exponential(3, tau=-1.0)


def test_histograms_count_the_last_edge():
    x = torch.tensor([0.0, 1.0, 1.0, 2.0])
    hist, edges = torch.histogram(x, 2, range=(0.0, 2.0))
    assert hist.tolist() == [1.0, 3.0]
    assert edges.tolist() == [0.0, 1.0, 2.0]


def test_gradients_on_a_grid_are_exact_for_parabolas():
    x = torch.tensor([0.0, 1.0, 3.0, 4.0])
    (slope,) = torch.gradient(x * x, spacing=(x,), edge_order=2)
    assert_close(slope, 2 * x)


def test_copies_of_parts_have_memory_of_their_own():
    x = torch.arange(4.0)
    first, _ = torch.split_copy(x, 2)
    first.zero_()
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert torch.ones(3, 2).sum_to_size(1, 2).tolist() == [[3.0, 3.0]]
    assert torch.tensor([0, 3]).nonzero_static(size=2).tolist() == [[1], [-1]]


def test_numbers_of_powers_and_gammas():
    one = torch.tensor([0.75])
    assert torch.ldexp(one, torch.tensor([3])).tolist() == [6.0]
    assert torch.functional.atleast_2d is torch.atleast_2d


def test_made_tensors_are_in_their_range():
    torch.manual_seed(0)
    result = make_tensor(40, 3, dtype=torch.float32, low=-2, high=5, noncontiguous=True)
    assert result.shape == (40, 3)
    assert not result.is_contiguous()
    assert float(result.min()) >= -2
    assert float(result.max()) <= 5
